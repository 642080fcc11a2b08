package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/AzureAD/microsoft-authentication-library-for-go/apps/confidential"
	"github.com/google/uuid"
)

type object = map[string]any

// directory asks the directory by azcore's pipeline, which every client of the original in Go is made of.
type directory struct {
	client *azcore.Client
	base   string
}

func newDirectory(credential azcore.TokenCredential, options azcore.ClientOptions, origin string) directory {
	bearer := runtime.NewBearerTokenPolicy(credential, []string{graph}, nil)
	pipeline := runtime.PipelineOptions{PerRetry: []policy.Policy{bearer}}
	client := must(azcore.NewClient("walk", "v1.0.0", pipeline, &options))
	return directory{client, origin + "/microsoft.graph/v1.0"}
}

// ask returns the body of the answer, or an azcore.ResponseError for any status of 400 or more.
func (d directory) ask(method string, url string, body object) (object, error) {
	if strings.HasPrefix(url, "/") {
		url = d.base + url
	}
	request := must(runtime.NewRequest(background, method, url))
	if body != nil {
		if err := runtime.MarshalAsJSON(request, body); err != nil {
			return nil, err
		}
	}
	response, err := d.client.Pipeline().Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, runtime.NewResponseError(response)
	}
	answer := object{}
	if response.StatusCode == http.StatusNoContent {
		return answer, nil
	}
	return answer, runtime.UnmarshalAsJSON(response, &answer)
}

func (d directory) addUser() string {
	name := "g-" + uuid.NewString()
	return must(d.ask(http.MethodPost, "/users", object{
		"displayName": name, "accountEnabled": true, "mailNickname": name, "userPrincipalName": name + "@example.com",
		"passwordProfile": object{"password": "a long-winded Phrase 42"},
	}))["id"].(string)
}

// listPages follows the links to further pages by azcore's pager; it also returns the last page.
func (d directory) listPages(path string) ([]object, object) {
	const next = "@odata.nextLink"
	pager := runtime.NewPager(runtime.PagingHandler[object]{
		More: func(page object) bool { return page[next] != nil },
		Fetcher: func(_ context.Context, page *object) (object, error) {
			if page != nil {
				path = (*page)[next].(string)
			}
			return d.ask(http.MethodGet, path, nil)
		},
	})
	all, last := []object{}, object{}
	for pager.More() {
		last = must(pager.NextPage(background))
		for _, one := range last["value"].([]any) {
			all = append(all, one.(object))
		}
	}
	return all, last
}

func (d directory) walk() {
	made := []string{}
	for range 5 {
		made = append(made, d.addUser())
	}
	all, _ := d.listPages("/users?$top=2")
	check("pages of two have all people", hasAll(all, made), len(all))
	d.followDelta(made)
	d.readTypes(made[2])
	answer := must(d.ask(http.MethodPost, "/$batch", object{"requests": []object{
		{"id": "1", "method": "GET", "url": "/users/" + made[2]},
		{"id": "2", "method": "GET", "url": "/users/" + uuid.NewString()},
	}}))
	statuses := map[string]float64{}
	for _, one := range answer["responses"].([]any) {
		statuses[one.(object)["id"].(string)] = one.(object)["status"].(float64)
	}
	check("a batch answers each request", statuses["1"] == 200 && statuses["2"] == 404, statuses)
	var refusal *azcore.ResponseError
	_, err := d.ask(http.MethodGet, "/users/"+uuid.NewString(), nil)
	check("an unknown person is not found",
		errors.As(err, &refusal) && refusal.StatusCode == 404 && refusal.ErrorCode == "Request_ResourceNotFound", err)
}

func (d directory) followDelta(made []string) {
	first, last := d.listPages("/users/delta?$top=2")
	check("delta begins with all people", hasAll(first, made), len(first))
	must(d.ask(http.MethodPatch, "/users/"+made[0], object{"jobTitle": "Changed"}))
	must(d.ask(http.MethodDelete, "/users/"+made[1], nil))
	changed, _ := d.listPages(last["@odata.deltaLink"].(string))
	told := object{}
	for _, one := range changed {
		told[one["id"].(string)] = one
	}
	check("delta tells the change", told[made[0]].(object)["jobTitle"] == "Changed", changed)
	check("delta tells the deletion", told[made[1]].(object)["@removed"] != nil, changed)
}

func (d directory) readTypes(user string) {
	group := "/groups/" + must(d.ask(http.MethodPost, "/groups", object{
		"displayName": "G", "mailNickname": "g-" + uuid.NewString(), "mailEnabled": false, "securityEnabled": true,
	}))["id"].(string)
	must(d.ask(http.MethodPost, group+"/members/$ref", object{"@odata.id": d.base + "/directoryObjects/" + user}))
	members, _ := d.listPages(group + "/members")
	check("a member is of its type", len(members) == 1 && members[0]["@odata.type"] == "#microsoft.graph.user", members)
	for _, cast := range []string{"microsoft.graph.user", "graph.user", "vendor.graph.user"} {
		members, _ = d.listPages(group + "/members/" + cast)
		check("the cast "+cast+" is understood", len(members) == 1, members)
		one := must(d.ask(http.MethodGet, group+"/members/"+user+"/"+cast, nil))
		check("one member is cast to "+cast, one["id"] == user, one)
	}
}

func hasAll(listed []object, ids []string) bool {
	seen := map[string]bool{}
	for _, one := range listed {
		seen[one["id"].(string)] = true
	}
	for _, id := range ids {
		if !seen[id] {
			return false
		}
	}
	return true
}

// walkMsal gets a token by the library that azidentity is made of, twice.
func walkMsal(origin string) {
	secret := must(confidential.NewCredFromSecret(os.Getenv("WALK_SECRET")))
	client := must(confidential.New(origin+"/"+os.Getenv("WALK_TENANT"), os.Getenv("WALK_CLIENT"), secret,
		confidential.WithInstanceDiscovery(false), confidential.WithHTTPClient(http.DefaultClient)))
	first := must(client.AcquireTokenByCredential(background, []string{graph}))
	again := must(client.AcquireTokenByCredential(background, []string{graph}))
	check("msal takes the second from its cache", first.AccessToken == again.AccessToken)
}
