"""Walks through the masking API with Python's azure-mgmt-sql 4 and azure-identity as they are.

Needs `pip install azure-identity azure-mgmt-sql`, a running service, and an application with a secret that is Owner at `/`:
    python test/clients/masking_walk.py https://localhost:8443 TENANT APPLICATION SECRET DATA-DIRECTORY/tls/ca.pem
Ends with an assertion where an answer is not what the client's own types expect.
"""

import sys
from importlib.metadata import version

import requests
from azure.core.exceptions import HttpResponseError
from azure.identity import ClientSecretCredential
from azure.mgmt.sql import SqlManagementClient
from azure.mgmt.sql.models import Database, DataMaskingPolicy, DataMaskingRule, Server

origin, tenant, application, secret, ca = sys.argv[1:]
management = "https://management.azure.com/.default"
at = ("group", "walked", "shop")

sent = []
send = requests.Session.send
requests.Session.send = lambda self, request, **options: sent.append(request.path_url) or send(self, request, **options)

credential = ClientSecretCredential(
    tenant, application, secret, authority=origin, disable_instance_discovery=True, connection_verify=ca
)
first = credential.get_token(management)
count = len(sent)
assert credential.get_token(management).token == first.token
assert len(sent) == count, "a second token is taken from the cache"

client = SqlManagementClient(
    credential, "sub-1", base_url=origin, credential_scopes=[management], connection_verify=ca
)
server = Server(location="here", administrator_login="sa", administrator_login_password="ignored")
assert client.servers.begin_create_or_update(*at[:2], server).result().name == "walked"
assert client.databases.begin_create_or_update(*at, Database(location="here")).result().name == "shop"
assert client.data_masking_policies.get(*at).data_masking_state == "Disabled"

rule = DataMaskingRule(schema_name="public", table_name="person", column_name="email", masking_function="Email")
made = client.data_masking_rules.create_or_update(*at, "mail", rule)
assert (made.name, made.masking_function, made.rule_state) == ("mail", "Email", "Enabled")
assert [one.name for one in client.data_masking_rules.list_by_database(*at)] == ["mail"]
policy = DataMaskingPolicy(data_masking_state="Enabled", exempt_principals="dba")
assert client.data_masking_policies.create_or_update(*at, policy).exempt_principals == "dba"

try:
    client.data_masking_rules.create_or_update(*at, "bad", DataMaskingRule(schema_name="public", masking_function="Number"))
    raise AssertionError("a rule without its columns is refused")
except HttpResponseError as refusal:
    assert refusal.status_code == 400 and refusal.error.code == "InvalidDataMaskingRule", refusal

rule.rule_state = "Disabled"
assert client.data_masking_rules.create_or_update(*at, "mail", rule).rule_state == "Disabled"
assert "walked" in [one.name for one in client.servers.list()]
assert "shop" in [one.name for one in client.databases.list_by_server(*at[:2])]
client.databases.begin_delete(*at).result()
client.servers.begin_delete(*at[:2]).result()
print(f"azure-identity {version('azure-identity')}, azure-mgmt-sql {version('azure-mgmt-sql')}: all as expected")
