// Gets tokens with Go's azidentity as it is: one request for three tokens, as the second and third come from its cache.
//
//	go run . https://localhost:8443/ TENANT APPLICATION SECRET DATA-DIRECTORY/tls/ca.pem
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// counter counts the requests for tokens.
type counter struct {
	client *http.Client
	tokens int
}

func (c *counter) Do(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/token") {
		c.tokens++
	}
	return c.client.Do(request)
}

func main() {
	if len(os.Args) != 6 {
		log.Fatal("usage: go run . ORIGIN TENANT APPLICATION SECRET CA-FILE")
	}
	pem, err := os.ReadFile(os.Args[5])
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &counter{client: &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
	}}
	options := &azidentity.ClientSecretCredentialOptions{
		ClientOptions: azcore.ClientOptions{
			Cloud:     cloud.Configuration{ActiveDirectoryAuthorityHost: os.Args[1]},
			Transport: transport,
		},
		DisableInstanceDiscovery: true,
	}
	credential, err := azidentity.NewClientSecretCredential(os.Args[2], os.Args[3], os.Args[4], options)
	if err != nil {
		log.Fatal(err)
	}
	wanted := policy.TokenRequestOptions{Scopes: []string{"https://graph.microsoft.com/.default"}}
	for range 3 {
		if _, err := credential.GetToken(context.Background(), wanted); err != nil {
			log.Fatal(err)
		}
	}
	if transport.tokens != 1 {
		log.Fatalf("%d requests for tokens instead of one", transport.tokens)
	}
	fmt.Println("three tokens by one request")
}
