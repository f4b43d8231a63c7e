#!/usr/bin/env bash
# A tour on a store of its own, removed at the end. Every line after a `$` is really run.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
for name in $(compgen -e GITMEM_ || true); do unset "$name"; done
export GIT_PAGER=cat PAGER=cat

if ! command -v gitmem >/dev/null; then
    echo "gitmem is not on the PATH; run 'make demo' in the checkout" >&2
    exit 1
fi

say() { printf '# %s\n' "$@"; }
run() {
    printf '$ %s\n' "$1"
    eval "$1"
    echo
}

say "A store is a folder. This one holds one group, main."
run 'export GITMEM_HOME="$PWD/memory" GITMEM_AGENT=ada'
run 'gitmem init'

say "Every write is one commit, with the reason it was made. A layer knows its own file."
run 'gitmem write state "# Active State

Moving the billing service to ESM.
" --reason "started the migration"'
run 'gitmem write decisions --entry "Use ESM only" --set "Decided by=the team" --set Importance=2 \
    "Two module systems cost us a week." --reason "agreed with the team"'
run 'gitmem write preferences --entry "Short answers" --set "Applies to=all" --set Importance=3'
run 'gitmem write diary --summary "Billing moves to ESM" "The tests are green."'
run 'gitmem log'

say "This is what the model is shown: from the last commit, the same bytes for the same day."
run 'gitmem inject --layer state --layer preferences --layer diary'

say "What the agent sees is plain files, and what people see is plain git."
run 'cat memory/groups/main/state.md'
run 'git -C memory/groups/main log --format="%h %an: %s"'

say "Something damages a file behind gitmem's back ..."
run 'printf "\0\0\0\0" > memory/groups/main/reference/decisions.md'
say "... and nothing is lost."
run 'gitmem restore reference/decisions.md'
run 'cat memory/groups/main/reference/decisions.md'

say "Every entry knows when its meaning last changed; restoring did not change it."
run 'gitmem freshness'

say "The day is kept, and the state is one screen."
run 'gitmem snapshot'
run 'gitmem status'

say "The damage and its repair are history too, and the store can vouch for itself."
run 'gitmem log reference/decisions.md'
run 'gitmem check'
