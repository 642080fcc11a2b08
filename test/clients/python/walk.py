"""The parts that every walk in Python shares: where the service is, its credential, and how checks are told."""

import os
from importlib.metadata import version

import requests
from azure.core.credentials import TokenCredential
from azure.identity import ClientSecretCredential

origin = os.environ["WALK_ORIGIN"]
tenant = os.environ["WALK_TENANT"]
client_id = os.environ["WALK_CLIENT"]
secret = os.environ["WALK_SECRET"]
ca = os.environ["WALK_CA"]
redirect_uri = os.environ["WALK_REDIRECT"]
public_client_id = os.environ["WALK_PUBLIC_CLIENT"]
person = os.environ["WALK_PERSON"]
person_id = os.environ["WALK_PERSON_ID"]
password = os.environ["WALK_PASSWORD"]

management = "https://management.azure.com/.default"
graph = "https://graph.microsoft.com/.default"

sent = []
"""The path of every request that `requests` sends."""
send = requests.Session.send
requests.Session.send = lambda self, request, **options: sent.append(request.path_url) or send(self, request, **options)


def check(what: str, holds: bool, seen: object = None) -> None:
    if not holds:
        raise AssertionError(f"{what}: {seen!r}")
    print("ok", what, flush=True)


def tell_versions(*packages: str) -> None:
    print("versions", ", ".join(f"{name} {version(name)}" for name in packages), flush=True)


def make_credential() -> ClientSecretCredential:
    return ClientSecretCredential(
        tenant, client_id, secret, authority=origin, disable_instance_discovery=True, connection_verify=ca
    )


def check_caching(credential: TokenCredential, scope: str) -> None:
    first = credential.get_token(scope)
    count = len(sent)
    again = credential.get_token(scope)
    check(f"a second token for {scope} makes no request", again.token == first.token and len(sent) == count, sent[count:])
