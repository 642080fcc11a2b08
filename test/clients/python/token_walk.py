"""Walks through the token service with msal, azure-identity, PyJWT and Authlib as they are."""

from urllib.parse import parse_qsl, urlparse

import jwt
import msal
import requests
from authlib.integrations.requests_client import OAuth2Session
from azure.identity import OnBehalfOfCredential

from sign_in import enter_code, sign_in
from walk import (
    ca,
    check,
    check_caching,
    client_id,
    graph,
    origin,
    person,
    person_id,
    public_client_id,
    redirect_uri,
    secret,
    sent,
    tell_versions,
    tenant,
)

authority = f"{origin}/{tenant}"
read_me = "https://graph.microsoft.com/User.Read"
document = requests.get(f"{authority}/v2.0/.well-known/openid-configuration", verify=ca).json()
settings = {"authority": authority, "instance_discovery": False, "verify": ca}


def ask(path: str, token: str) -> requests.Response:
    return requests.get(f"{origin}{path}", headers={"Authorization": f"Bearer {token}"}, verify=ca)


def sign_in_on_a_device() -> str:
    application = msal.PublicClientApplication(public_client_id, **settings)
    flow = application.initiate_device_flow([read_me])
    check("msal shows the code of a device", flow["user_code"] in flow["message"], flow)
    enter_code(flow["verification_uri"], flow["user_code"])
    answer = application.acquire_token_by_device_flow(flow)
    check("msal signs in by a device", answer.get("scope") == read_me, answer)
    check("msal reads the id token", answer["id_token_claims"]["preferred_username"] == person, answer["id_token_claims"])
    check("the token works", ask("/v1.0/me", answer["access_token"]).json()["id"] == person_id)
    account = application.get_accounts()[0]
    check("msal knows the account", account["username"] == person, account)
    count = len(sent)
    again = application.acquire_token_silent([read_me], account)
    check("msal takes the second from its cache", again["token_source"] == "cache" and len(sent) == count, again)
    fresh = application.acquire_token_silent([read_me], account, force_refresh=True)
    check("msal refreshes", fresh["token_source"] == "identity_provider", fresh)
    return fresh["access_token"]


def exchange(assertion: str) -> None:
    application = msal.ConfidentialClientApplication(client_id, client_credential=secret, **settings)
    answer = application.acquire_token_on_behalf_of(assertion, [read_me])
    check("msal gets a token on behalf of a person", "access_token" in answer, answer)
    claims = jwt.decode(answer["access_token"], options={"verify_signature": False})
    check("it is the person's, through the middle", (claims["oid"], claims["azp"]) == (person_id, client_id), claims)
    refused = application.acquire_token_on_behalf_of(assertion, ["https://graph.microsoft.com/Mail.Read"])
    check("a permission beyond is refused", refused.get("error") == "invalid_scope", refused)
    told = ask(f"/{tenant}/oidc/userinfo", answer["access_token"]).json()
    check("userinfo tells who signed in", (told["sub"], told["email"]) == (person_id, "ada@example.com"), told)
    credential = OnBehalfOfCredential(
        tenant,
        client_id,
        client_secret=secret,
        user_assertion=assertion,
        authority=origin,
        disable_instance_discovery=True,
        connection_verify=ca,
    )
    check_caching(credential, read_me)


def sign_in_by_code() -> None:
    """With msal, which checks state and nonce and sends a proof key."""
    application = msal.ConfidentialClientApplication(client_id, client_credential=secret, **settings)
    flow = application.initiate_auth_code_flow([read_me], redirect_uri=redirect_uri)
    answered = dict(parse_qsl(urlparse(sign_in(flow["auth_uri"])).query))
    answer = application.acquire_token_by_auth_code_flow(flow, answered)
    check("msal redeems a code", answer.get("id_token_claims", {}).get("oid") == person_id, answer)


def walk_authlib() -> None:
    session = OAuth2Session(client_id, secret, scope=graph, token_endpoint_auth_method="client_secret_post")
    session.verify = ca
    token = session.fetch_token(document["token_endpoint"], grant_type="client_credentials")
    check("Authlib gets a token", session.get(f"{origin}/v1.0/users?$top=1").status_code == 200, token)
    session = OAuth2Session(
        client_id,
        secret,
        scope="openid profile email offline_access User.Read",
        redirect_uri=redirect_uri,
        code_challenge_method="S256",
    )
    session.verify = ca
    verifier = "a-verifier-of-forty-three-characters-or-more"
    url, state = session.create_authorization_url(document["authorization_endpoint"], code_verifier=verifier, nonce="once")
    token = session.fetch_token(
        document["token_endpoint"], authorization_response=sign_in(url), state=state, code_verifier=verifier
    )
    claims = read_token(token["id_token"], client_id)
    check("the id token is of this sign-in", (claims["oid"], claims["nonce"]) == (person_id, "once"), claims)
    check("Authlib asks userinfo", session.get(document["userinfo_endpoint"]).json()["sub"] == claims["sub"])
    fresh = session.refresh_token(document["token_endpoint"])
    check("Authlib refreshes", fresh["access_token"] != token["access_token"])


def read_token(token: str, audience: str) -> dict:
    """The claims of a token whose signature, audience, issuer and time PyJWT has checked by the published keys."""
    keys = jwt.PyJWKSet.from_dict(requests.get(document["jwks_uri"], verify=ca).json())
    key = keys[jwt.get_unverified_header(token)["kid"]]
    algorithms = document["id_token_signing_alg_values_supported"]
    return jwt.decode(token, key, algorithms=algorithms, audience=audience, issuer=document["issuer"])


def main() -> None:
    token = sign_in_on_a_device()
    exchange(token)
    check("PyJWT trusts an access token", read_token(token, origin)["scp"] == "User.Read")
    sign_in_by_code()
    walk_authlib()
    tell_versions("msal", "azure-identity", "Authlib", "PyJWT")


main()
