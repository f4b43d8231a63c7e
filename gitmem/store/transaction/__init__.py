"""The write protocol: capture edits, publish a plan, recover what a dead writer left.

An operation calls `writer.publish(plan)` with a function that reads a `Snapshot` and returns a
`Plan`: its steps, one commit each, and the operation's result, also where there are no steps. The
answer, `Published`, has that result and in `completion` the fields that every result shares.
"""
