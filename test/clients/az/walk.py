"""Walks through both APIs with the commands of az as they are; the commands stand in docs/clients.md."""

import json
import os
import subprocess
import sys
import tempfile

origin, tenant, client, secret = (os.environ[f"WALK_{name}"] for name in ("ORIGIN", "TENANT", "CLIENT", "SECRET"))
az = os.path.join(os.path.dirname(sys.executable), "az")
home = tempfile.TemporaryDirectory()
environment = {
    **os.environ,
    "HOME": home.name,
    "AZURE_CONFIG_DIR": home.name,
    "AZURE_CORE_COLLECT_TELEMETRY": "no",
    "AZURE_CORE_INSTANCE_DISCOVERY": "false",
}
server = "/subscriptions/sub-1/resourceGroups/group/providers/Microsoft.Sql/servers/walked-az"


def run(*words: str):
    done = subprocess.run([az, *words, "--only-show-errors", "-o", "json"], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"az {' '.join(words)}: {done.stderr[-1500:]}")
    return json.loads(done.stdout) if done.stdout.strip() else None


def fail(*words: str) -> str:
    done = subprocess.run([az, *words, "--only-show-errors"], env=environment, capture_output=True, text=True)
    assert done.returncode != 0, words
    return done.stderr


def check(what: str, holds: bool, seen: object = None) -> None:
    if not holds:
        raise AssertionError(f"{what}: {seen!r}")
    print("ok", what, flush=True)


def sign_in() -> None:
    run("cloud", "register", "-n", "masquerade", "--endpoint-resource-manager", origin)
    run("cloud", "set", "-n", "masquerade")
    login = ("login", "--service-principal", "-u", client, "--tenant", tenant)
    check("a wrong secret is refused", "client authentication failed" in fail(*login, "-p", "wrong"))
    run(*login, "-p", secret, "--allow-no-subscriptions")
    run("rest", "--method", "put", "--url", f"{server}?api-version=2023-08-01", "--body", '{"location":"here"}')
    found = [one["id"] for one in run(*login, "-p", secret)]
    check("az login finds subscriptions", "sub-1" in found, found)
    run("account", "set", "--subscription", "sub-1")
    check("az login by certificate", run(*login, "--certificate", os.environ["WALK_CERTIFICATE"]) is not None)
    tokens = [run("account", "get-access-token")["accessToken"] for _ in range(2)]
    check("a second az account get-access-token gives the same", tokens[0] == tokens[1])
    check("az account show", run("account", "show")["tenantId"] == tenant)
    run("account", "set", "--subscription", "sub-1")


def walk_masking() -> None:
    at = ("-g", "group", "-s", "walked-az")
    check("az group list", "group" in [one["name"] for one in run("group", "list")])
    check("az group exists", run("group", "exists", "-n", "group") is True and run("group", "exists", "-n", "none") is False)
    check("az account list-locations", {"here", "local"} <= {one["name"] for one in run("account", "list-locations")})
    check("az resource list", "walked-az" in [one["name"] for one in run("resource", "list", "-g", "group")])
    check("az resource list by type", run("resource", "list", "--resource-type", "Microsoft.Sql/managedInstances") == [])
    made = run("sql", "server", "create", "-g", "group", "-n", "made-az", "-l", "here", "-u", "sa", "-p", "Ignored.12345")
    check("az sql server create", made["name"] == "made-az", made)
    check("az sql server list", {"made-az", "walked-az"} <= {one["name"] for one in run("sql", "server", "list")})
    many = run("sql", "server", "list", "--subscription", "many")
    check("az sql server list follows pages", len({one["name"] for one in many}) == 1001, len(many))
    check("az sql db create", run("sql", "db", "create", *at, "-n", "shop")["name"] == "shop")
    check("az sql db list", [one["name"] for one in run("sql", "db", "list", *at)] == ["shop"])
    check("az sql db show", run("sql", "db", "show", *at, "-n", "shop")["status"] == "Online")
    rules = f"{server}/databases/shop/dataMaskingPolicies/Default/rules"
    body = {"schemaName": "public", "tableName": "person", "columnName": "email", "maskingFunction": "Email"}
    sent = json.dumps({"properties": body})
    made = run("rest", "--method", "put", "--url", f"{rules}/mail?api-version=2023-08-01", "--body", sent)
    check("a rule by az rest", made["properties"]["ruleState"] == "Enabled", made)
    listed = run("rest", "--url", f"{rules}?api-version=2023-08-01")["value"]
    check("rules by az rest", [one["name"] for one in listed] == ["mail"], listed)
    check("an unknown database is not found", "ResourceNotFound" in fail("sql", "db", "show", *at, "-n", "nowhere"))
    run("sql", "db", "delete", *at, "-n", "shop", "--yes")
    run("sql", "server", "delete", "-g", "group", "-n", "made-az", "--yes")
    check("az sql server delete", "made-az" not in [one["name"] for one in run("sql", "server", "list")])


def ask_graph(person: str) -> None:
    rest = ("rest", "--resource", "https://graph.microsoft.com", "--url")
    types = [one["@odata.type"] for one in run(*rest, f"{origin}/microsoft.graph/v1.0/users/{person}/memberOf")["value"]]
    check("types by az rest", types == ["#microsoft.graph.group"], types)
    cast = run(*rest, f"{origin}/v1.0/users/{person}/memberOf/microsoft.graph.group")["value"]
    check("a cast by az rest", [one["displayName"] for one in cast] == ["AzGroup"], cast)
    requests = {"requests": [{"id": "1", "method": "GET", "url": f"/users/{person}"}]}
    answer = run(*rest, f"{origin}/v1.0/$batch", "--method", "post", "--body", json.dumps(requests))
    check("a batch by az rest", answer["responses"][0]["body"]["id"] == person, answer)
    page = run(*rest, f"{origin}/v1.0/groups/delta?$deltatoken=latest")
    run("ad", "group", "create", "--display-name", "AzDelta", "--mail-nickname", "azdelta")
    changed = [one["displayName"] for one in run(*rest, page["@odata.deltaLink"])["value"]]
    check("a delta by az rest", changed == ["AzDelta"], changed)
    run("ad", "group", "delete", "-g", "AzDelta")


def walk_directory() -> None:
    name = "ada-az@example.com"
    password = "a long-winded Phrase 42"
    ada = run("ad", "user", "create", "--display-name", "Ada", "--user-principal-name", name, "--password", password)
    check("az ad user create", ada["userPrincipalName"] == name)
    run("ad", "user", "update", "--id", name, "--display-name", "Ada L")
    check("az ad user show", run("ad", "user", "show", "--id", name)["displayName"] == "Ada L")
    check("az ad user list", name in [one["userPrincipalName"] for one in run("ad", "user", "list")])
    run("ad", "group", "create", "--display-name", "AzGroup", "--mail-nickname", "azgroup")
    run("ad", "group", "member", "add", "-g", "AzGroup", "--member-id", ada["id"])
    listed = run("ad", "group", "member", "list", "-g", "AzGroup")
    check("az ad group member list", [one["id"] for one in listed] == [ada["id"]], listed)
    check("az ad group member check", run("ad", "group", "member", "check", "-g", "AzGroup", "--member-id", ada["id"])["value"])
    ask_graph(ada["id"])
    app = run("ad", "app", "create", "--display-name", "Az walk")["appId"]
    check("az ad app create", run("ad", "app", "show", "--id", app)["displayName"] == "Az walk")
    principal = run("ad", "sp", "create", "--id", app)
    check("az ad sp list", app in [one["appId"] for one in run("ad", "sp", "list", "--all")])
    check("az ad app credential reset", bool(run("ad", "app", "credential", "reset", "--id", app)["password"]))
    check("az ad app credential reset --create-cert", bool(run("ad", "app", "credential", "reset", "--id", app, "--create-cert")))
    scope = "/subscriptions/sub-1"
    made = run("role", "assignment", "create", "--assignee", app, "--role", "Reader", "--scope", scope)
    check("az role assignment create", made["principalId"] == principal["id"], made)
    listed = run("role", "assignment", "list", "--assignee", app, "--scope", scope)
    check("az role assignment list", [one["roleDefinitionName"] for one in listed] == ["Reader"], listed)
    run("role", "assignment", "delete", "--assignee", app, "--role", "Reader", "--scope", scope)
    check("az role assignment delete", run("role", "assignment", "list", "--assignee", app, "--scope", scope) == [])
    check("az role definition list", len(run("role", "definition", "list")) == 4)
    run("ad", "app", "delete", "--id", app)
    run("ad", "group", "delete", "-g", "AzGroup")
    run("ad", "user", "delete", "--id", name)
    check("an unknown person is not found", "does not exist" in fail("ad", "user", "show", "--id", name))


sign_in()
walk_masking()
walk_directory()
print("versions azure-cli", run("version")["azure-cli"])
