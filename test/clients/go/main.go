// Walks through both APIs with Go's azidentity, azcore, msal and armsql as they are. Environment variables say where the service
// is: scripts/clients/walked-service.ts sets them.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"runtime/debug"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/sql/armsql"
)

const (
	group    = "group"
	server   = "walked-go"
	database = "shop"
	graph    = "https://graph.microsoft.com/.default"
)

var background = context.Background()

// counter counts the requests for tokens.
type counter struct{ tokens int }

func (c *counter) Do(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/token") {
		c.tokens++
	}
	return http.DefaultClient.Do(request)
}

func check(what string, holds bool, seen ...any) {
	if !holds {
		log.Fatal(append([]any{what, ": "}, seen...)...)
	}
	fmt.Println("ok", what)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	origin := os.Getenv("WALK_ORIGIN")
	transport := &counter{}
	options := azcore.ClientOptions{
		Cloud: cloud.Configuration{
			ActiveDirectoryAuthorityHost: origin + "/",
			Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
				cloud.ResourceManager: {Audience: "https://management.azure.com", Endpoint: origin},
			},
		},
		Transport: transport,
	}
	credential := must(azidentity.NewClientSecretCredential(
		os.Getenv("WALK_TENANT"), os.Getenv("WALK_CLIENT"), os.Getenv("WALK_SECRET"),
		&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true},
	))
	walkTokens(credential, transport)
	walkMsal(origin)
	clients := must(armsql.NewClientFactory("sub-1", credential, &arm.ClientOptions{
		ClientOptions: options, DisableRPRegistration: true,
	}))
	walkResources(clients)
	walkMasking(clients)
	walkErrors(clients)
	removeAll(clients)
	many := must(armsql.NewServersClient("many", credential, &arm.ClientOptions{
		ClientOptions: options, DisableRPRegistration: true,
	}))
	walkPages(many)
	newDirectory(credential, options, origin).walk()
	tellVersions()
}

func walkTokens(credential azcore.TokenCredential, transport *counter) {
	for _, resource := range []string{"https://graph.microsoft.com", "https://management.azure.com"} {
		transport.tokens = 0
		wanted := policy.TokenRequestOptions{Scopes: []string{resource + "/.default"}}
		for range 3 {
			must(credential.GetToken(background, wanted))
		}
		check("three tokens of "+resource+" by one request", transport.tokens == 1, transport.tokens)
	}
}

func walkResources(clients *armsql.ClientFactory) {
	servers, databases := clients.NewServersClient(), clients.NewDatabasesClient()
	declared := armsql.Server{
		Location:   to.Ptr("here"),
		Properties: &armsql.ServerProperties{AdministratorLogin: to.Ptr("sa"), AdministratorLoginPassword: to.Ptr("ignored")},
	}
	madeServer := must(must(servers.BeginCreateOrUpdate(background, group, server, declared, nil)).PollUntilDone(background, nil))
	check("server created", *madeServer.Name == server)
	madeDatabase := must(must(databases.BeginCreateOrUpdate(
		background, group, server, database, armsql.Database{Location: to.Ptr("here")}, nil,
	)).PollUntilDone(background, nil))
	check("database created", *madeDatabase.Type == "Microsoft.Sql/servers/databases", *madeDatabase.Type)

	names := []string{}
	for pages := servers.NewListPager(nil); pages.More(); {
		for _, one := range must(pages.NextPage(background)).Value {
			names = append(names, *one.Name)
		}
	}
	check("servers listed", strings.Contains(strings.Join(names, " "), server), names)
	names = nil
	for pages := databases.NewListByServerPager(group, server, nil); pages.More(); {
		for _, one := range must(pages.NextPage(background)).Value {
			names = append(names, *one.Name)
		}
	}
	check("databases listed", len(names) == 1 && names[0] == database, names)
}

func walkPages(servers *armsql.ServersClient) {
	sizes, names := []int{}, map[string]bool{}
	for pages := servers.NewListPager(nil); pages.More(); {
		page := must(pages.NextPage(background)).Value
		sizes = append(sizes, len(page))
		for _, one := range page {
			names[*one.Name] = true
		}
	}
	check("1001 servers come in two pages", len(sizes) == 2 && len(names) == 1001, sizes)
}

func walkMasking(clients *armsql.ClientFactory) {
	policies, rules := clients.NewDataMaskingPoliciesClient(), clients.NewDataMaskingRulesClient()
	fresh := must(policies.Get(background, group, server, database, nil))
	check("policy of a new database", *fresh.Properties.DataMaskingState == armsql.DataMaskingStateDisabled)
	rule := armsql.DataMaskingRule{Properties: &armsql.DataMaskingRuleProperties{
		SchemaName: to.Ptr("public"), TableName: to.Ptr("person"), ColumnName: to.Ptr("email"),
		MaskingFunction: to.Ptr(armsql.DataMaskingFunctionEmail),
	}}
	made := must(rules.CreateOrUpdate(background, group, server, database, "mail", rule, nil))
	check("rule created", *made.Properties.RuleState == armsql.DataMaskingRuleStateEnabled)
	count := 0
	for pages := rules.NewListByDatabasePager(group, server, database, nil); pages.More(); {
		count += len(must(pages.NextPage(background)).Value)
	}
	check("rules listed", count == 1, count)
	exempt := armsql.DataMaskingPolicy{Properties: &armsql.DataMaskingPolicyProperties{
		DataMaskingState: to.Ptr(armsql.DataMaskingStateEnabled), ExemptPrincipals: to.Ptr("dba"),
	}}
	changed := must(policies.CreateOrUpdate(background, group, server, database, exempt, nil))
	check("policy changed", *changed.Properties.ExemptPrincipals == "dba")
	rule.Properties.RuleState = to.Ptr(armsql.DataMaskingRuleStateDisabled)
	gone := must(rules.CreateOrUpdate(background, group, server, database, "mail", rule, nil))
	check("rule deleted", *gone.Properties.RuleState == armsql.DataMaskingRuleStateDisabled)
}

func walkErrors(clients *armsql.ClientFactory) {
	var refusal *azcore.ResponseError
	_, err := clients.NewDatabasesClient().Get(background, group, server, "nowhere", nil)
	check("an unknown database is not found",
		errors.As(err, &refusal) && refusal.StatusCode == 404 && refusal.ErrorCode == "ResourceNotFound", err)
	bad := armsql.DataMaskingRule{Properties: &armsql.DataMaskingRuleProperties{
		SchemaName: to.Ptr("public"), TableName: to.Ptr("person"), ColumnName: to.Ptr("pay"),
		MaskingFunction: to.Ptr(armsql.DataMaskingFunctionNumber),
	}}
	_, err = clients.NewDataMaskingRulesClient().CreateOrUpdate(background, group, server, database, "bad", bad, nil)
	check("a rule without its bounds is refused",
		errors.As(err, &refusal) && refusal.StatusCode == 400 && refusal.ErrorCode == "InvalidDataMaskingRule", err)
}

func removeAll(clients *armsql.ClientFactory) {
	must(must(clients.NewDatabasesClient().BeginDelete(background, group, server, database, nil)).PollUntilDone(background, nil))
	must(must(clients.NewServersClient().BeginDelete(background, group, server, nil)).PollUntilDone(background, nil))
	_, err := clients.NewServersClient().Get(background, group, server, nil)
	check("server deleted", err != nil)
}

func tellVersions() {
	build, _ := debug.ReadBuildInfo()
	told := []string{}
	for _, module := range build.Deps {
		name := module.Path[strings.LastIndex(module.Path, "/")+1:]
		if strings.Contains("azidentity azcore armsql microsoft-authentication-library-for-go", name) {
			told = append(told, name+" "+strings.TrimPrefix(module.Version, "v"))
		}
	}
	fmt.Println("versions", strings.Join(told, ", "))
}
