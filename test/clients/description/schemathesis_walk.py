"""schemathesis asks every operation for what the description says, with values of its own making: no answer is a fault of
the service, and none is outside of the description. SCHEMATHESIS_SECONDS bounds the time, SCHEMATHESIS_EXAMPLES the count."""

import os
import subprocess
import sys
from pathlib import Path

from service import check, get_token, origin, tell_versions

# A subscription calls the address that it is given, and a new password would end the walk.
left_out = ["createSubscription", "changePassword"]
checks = [
    "no_fault_of_the_service",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "ignored_auth",
    "unsupported_method",
]

tell_versions("schemathesis")
seconds = int(os.environ.get("SCHEMATHESIS_SECONDS", "300"))
here = Path(__file__).parent
# Python 3.11 counts the depth of a parse for all threads together: two workers that parse at once end in a SystemError.
one_parse_at_a_time = """
import ast, threading
from schemathesis.cli import schemathesis

lock, parse = threading.RLock(), ast.parse

def parse_alone(*given, **named):
    with lock:
        return parse(*given, **named)

ast.parse = parse_alone
schemathesis()
"""
command = [
    sys.executable,
    "-c",
    one_parse_at_a_time,
    "run",
    f"{origin}/openapi.json",
    f"--header=Authorization: Bearer {get_token()}",
    f"--checks={','.join(checks)}",
    *[f"--exclude-operation-id={name}" for name in left_out],
    f"--phases={os.environ.get('SCHEMATHESIS_PHASES', 'examples,fuzzing')}",
    f"--max-examples={os.environ.get('SCHEMATHESIS_EXAMPLES', '2')}",
    f"--seed={os.environ.get('SCHEMATHESIS_SEED', '1')}",
    "--suppress-health-check=all",
    "--request-timeout=60",
    "--continue-on-failure",
    "--no-shrink",
    # They are about generated values that the service refuses, and would push faults out of sight.
    "--warnings=off",
    "--workers=2",
    f"--max-time={seconds}",
]
environment = {**os.environ, "SCHEMATHESIS_HOOKS": "checks", "PYTHONPATH": str(here), "NO_COLOR": "1"}
with subprocess.Popen(
    command, env=environment, cwd=os.environ.get("TMPDIR", "/tmp"), stdout=subprocess.PIPE, text=True
) as run:
    for line in run.stdout or []:
        print(line, end="", flush=True)
check(f"every operation answers as described, in up to {seconds} seconds", run.returncode == 0, run.returncode)
