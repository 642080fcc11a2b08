"""A client that openapi-python-client makes of the description lists users, groups and applications, and creates a rule."""

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

from service import ca, check, get_token, origin, tell_versions

tell_versions("openapi-python-client")
folder = tempfile.mkdtemp()
description = Path(folder) / "openapi.json"
config = Path(folder) / "config.yml"
config.write_text("project_name_override: described\npackage_name_override: described\npost_hooks: []\n")


def fetch() -> None:
    import ssl
    import urllib.request

    context = ssl.create_default_context(cafile=ca)
    with urllib.request.urlopen(f"{origin}/openapi.json", context=context) as answer:
        description.write_bytes(answer.read())


fetch()
paths = ["--path", str(description), "--config", str(config), "--output-path", f"{folder}/client"]
made = subprocess.run(
    [sys.executable, "-m", "openapi_python_client", "generate", *paths],
    capture_output=True,
    text=True,
    cwd=folder,
)
check("a client is generated", made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:])
sys.path.insert(0, f"{folder}/client")

described = importlib.import_module("described")
client = described.AuthenticatedClient(base_url=origin, token=get_token(), verify_ssl=ca)


def operation(tag: str, name: str):
    return importlib.import_module(f"described.api.{tag}.{name}")


users = operation("users", "list_users").sync(client=client)
check("users are listed", any("@" in user.user_principal_name for user in users.value), users)
groups = operation("groups", "list_groups").sync(client=client)
check("groups are listed", isinstance(groups.value, list), groups)
applications = operation("applications", "list_applications").sync(client=client)
names = [application.display_name for application in applications.value]
check("applications are listed", "Masquerade command line" in names, names)

models = importlib.import_module("described.models")
masks = next(getattr(models, name) for name in dir(models) if name.startswith("NewRulePropertiesMaskingFunction"))
body = models.NewRule(
    properties=models.NewRuleProperties(
        schema_name="public", table_name="passenger", column_name="email", masking_function=masks.EMAIL
    )
)
place = {
    "subscription_id": "walk",
    "resource_group_name": "walk",
    "server_name": "generated",
    "database_name": "python",
    "data_masking_rule_name": "email",
}
create = operation("rules", "create_or_update_rule")
version = importlib.import_module("described.models").CreateOrUpdateRuleApiVersion.VALUE_0
rule = create.sync_detailed(**place, client=client, body=body, api_version=version)
check("a rule is created", rule.status_code == 201 and rule.parsed.properties.column_name == "email", rule)
