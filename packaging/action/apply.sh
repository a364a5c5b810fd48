#!/usr/bin/env bash
# The step `apply` of the action: applies the reply in the current directory, and reports what changed.
set -euo pipefail

arguments=(--json)
[ -z "${EMEND_FORMAT:-}" ] || arguments+=(--format "$EMEND_FORMAT")
[ "${EMEND_DRY_RUN:-false}" != true ] || arguments+=(--dry-run)
if [ -n "${EMEND_REPLY_FILE:-}" ] && [ -n "${EMEND_REPLY:-}" ]; then
    echo "::error::give either reply or file, not both"
    exit 2
elif [ -n "${EMEND_REPLY_FILE:-}" ]; then
    arguments+=("$EMEND_REPLY_FILE")
elif [ -n "${EMEND_REPLY:-}" ]; then
    arguments+=(-)
else
    echo "::error::give the reply as input reply, or its file as input file"
    exit 2
fi

status=0
result=$(printf '%s' "${EMEND_REPLY:-}" | emend apply "${arguments[@]}") || status=$?
# A value of several lines needs a delimiter that it cannot contain.
delimiter="emend-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
{
    printf 'result<<%s\n%s\n%s\n' "$delimiter" "$result" "$delimiter"
    printf 'changed=%s\n' "$(jq '.data.filesTotal // 0' <<<"$result")"
} >>"$GITHUB_OUTPUT"
if [ "$status" -ne 0 ]; then
    # A command of the runner is one line, so line ends and percent signs are escaped.
    message=$(jq -r '[.message, .evidence, .next] | map(select(. != null and . != "")) | join("\n")' <<<"$result")
    message=${message//'%'/'%25'}
    echo "::error title=emend::${message//$'\n'/'%0A'}"
fi
exit "$status"
