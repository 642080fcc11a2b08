"""The parts that the walks of the description share: where the service is, a token, and how checks are told."""

import json
import os
import ssl
import urllib.parse
import urllib.request
from importlib.metadata import version

origin = os.environ["WALK_ORIGIN"]
ca = os.environ["WALK_CA"]


def get_token() -> str:
    """A token of the application, good for both APIs."""
    form = {
        "grant_type": "client_credentials",
        "client_id": os.environ["WALK_CLIENT"],
        "client_secret": os.environ["WALK_SECRET"],
        "scope": "https://graph.microsoft.com/.default",
    }
    url = f"{origin}/{os.environ['WALK_TENANT']}/oauth2/v2.0/token"
    context = ssl.create_default_context(cafile=ca)
    with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode(), context=context) as answer:
        return json.load(answer)["access_token"]


def check(what: str, holds: bool, seen: object = None) -> None:
    if not holds:
        raise AssertionError(f"{what}: {seen!r}")
    print("ok", what, flush=True)


def tell_versions(*packages: str) -> None:
    print("versions", ", ".join(f"{name} {version(name)}" for name in packages), flush=True)
