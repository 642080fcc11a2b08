"""Walks through the masking API with azure-mgmt-sql, azure-identity and msal as they are."""

import os

import msal
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ResourceNotFoundError
from azure.identity import CertificateCredential, ClientSecretCredential
from azure.mgmt.sql import SqlManagementClient
from azure.mgmt.sql.models import Database, DataMaskingPolicy, DataMaskingRule, Server

from walk import ca, check, check_caching, client_id, make_credential, management, origin, secret, sent, tell_versions, tenant

at = ("group", "walked-python", "shop")


def walk_tokens(credential: ClientSecretCredential) -> None:
    check_caching(credential, management)
    try:
        ClientSecretCredential(
            tenant, client_id, "wrong", authority=origin, disable_instance_discovery=True, connection_verify=ca
        ).get_token(management)
        check("a wrong secret gets no token", False)
    except ClientAuthenticationError as refusal:
        check("a wrong secret gets no token", "client authentication failed" in str(refusal), refusal)
    certified = CertificateCredential(
        tenant,
        client_id,
        certificate_path=os.environ["WALK_CERTIFICATE"],
        authority=origin,
        disable_instance_discovery=True,
        connection_verify=ca,
    )
    check_caching(certified, management)
    application = msal.ConfidentialClientApplication(
        client_id, client_credential=secret, authority=f"{origin}/{tenant}", instance_discovery=False, verify=ca
    )
    first = application.acquire_token_for_client([management])
    check("msal gets a token", "access_token" in first, first)
    count = len(sent)
    again = application.acquire_token_for_client([management])
    check("msal takes the second from its cache", again["token_source"] == "cache" and len(sent) == count, again)


def walk_resources(client: SqlManagementClient) -> None:
    server = Server(location="here", administrator_login="sa", administrator_login_password="ignored")
    check("server created", client.servers.begin_create_or_update(*at[:2], server).result().name == at[1])
    made = client.databases.begin_create_or_update(*at, Database(location="here")).result()
    check("database created", (made.name, made.type) == (at[2], "Microsoft.Sql/servers/databases"), made)
    check("server read", client.servers.get(*at[:2]).location == "here")
    check("servers listed", at[1] in [one.name for one in client.servers.list()])
    listed = client.servers.list_by_resource_group(at[0])
    check("servers of the group listed", at[1] in [one.name for one in listed])
    check("databases listed", at[2] in [one.name for one in client.databases.list_by_server(*at[:2])])


def walk_pages(credential: ClientSecretCredential) -> None:
    client = SqlManagementClient(
        credential, "many", base_url=origin, credential_scopes=[management], connection_verify=ca
    )
    count = len(sent)
    names = {one.name for one in client.servers.list()}
    check("1001 servers come in two pages", (len(names), len(sent) - count) == (1001, 2), (len(names), sent[count:]))


def walk_masking(client: SqlManagementClient) -> None:
    check("policy of a new database", client.data_masking_policies.get(*at).data_masking_state == "Disabled")
    rule = DataMaskingRule(schema_name="public", table_name="person", column_name="email", masking_function="Email")
    made = client.data_masking_rules.create_or_update(*at, "mail", rule)
    check("rule created", (made.masking_function, made.rule_state) == ("Email", "Enabled"), made)
    pay = DataMaskingRule(
        schema_name="public", table_name="person", column_name="pay", masking_function="Number", number_from="1", number_to="9"
    )
    made = client.data_masking_rules.create_or_update(*at, "pay", pay)
    check("bounds of a number are texts", (made.number_from, made.number_to) == ("1", "9"), made)
    listed = [one.column_name for one in client.data_masking_rules.list_by_database(*at)]
    check("rules listed", listed == ["email", "pay"], listed)
    policy = DataMaskingPolicy(data_masking_state="Enabled", exempt_principals="dba")
    check("policy changed", client.data_masking_policies.create_or_update(*at, policy).exempt_principals == "dba")
    rule.rule_state = "Disabled"
    check("rule deleted", client.data_masking_rules.create_or_update(*at, "mail", rule).rule_state == "Disabled")


def walk_errors(client: SqlManagementClient) -> None:
    bad = DataMaskingRule(schema_name="public", table_name="person", column_name="x", masking_function="Number")
    try:
        client.data_masking_rules.create_or_update(*at, "bad", bad)
        check("a rule without its bounds is refused", False)
    except HttpResponseError as refusal:
        told = (refusal.status_code, refusal.error.code)
        check("a rule without its bounds is refused", told == (400, "InvalidDataMaskingRule"), told)
    try:
        client.databases.get(*at[:2], "nowhere")
        check("an unknown database is not found", False)
    except ResourceNotFoundError as refusal:
        check("an unknown database is not found", refusal.error.code == "ResourceNotFound", refusal)


def main() -> None:
    credential = make_credential()
    walk_tokens(credential)
    client = SqlManagementClient(
        credential, "sub-1", base_url=origin, credential_scopes=[management], connection_verify=ca
    )
    walk_resources(client)
    walk_pages(credential)
    walk_masking(client)
    walk_errors(client)
    client.databases.begin_delete(*at).result()
    client.servers.begin_delete(*at[:2]).result()
    check("server deleted", at[1] not in [one.name for one in client.servers.list()])
    tell_versions("azure-mgmt-sql", "azure-identity", "msal")


main()
