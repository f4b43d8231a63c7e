"""The report on memory under the keys that zylos' own script gives it, for who reads those."""

from __future__ import annotations

from collections.abc import Mapping

from gitmem.memory.curate.reported import BudgetCheck, FileSize, ReferenceFile, Report


def seed_report(found: Report) -> Mapping[str, object]:
    """FOUND with the keys of zylos, and of each file no more than its script says of it."""
    budgets = found.budgets
    # Core files alone: a layer of many files has a pattern for a path.
    rules = {path: size for path, size in budgets.rules.items() if not set(path) & set("{*")}
    return {
        "timestamp": found.timestamp,
        "memoryDir": found.memory_dir,
        "totals": {"files": found.totals.files, "sizeBytes": found.totals.size_bytes},
        "budgets": {
            "rules": rules,
            "checks": [_check(each) for each in budgets.checks if each.file in rules],
            "overBudget": [each for each in budgets.over_budget if each in rules],
        },
        "referenceFiles": [_reference(each) for each in found.reference_files],
        "sessions": {
            # By name: the script lists one folder.
            "archiveCandidatesOlderThan30Days": [
                each.rpartition("/")[2]
                for each in found.sessions.archive_candidates_older_than_30_days
            ]
        },
        "oldestFiles": [_file(each) for each in found.oldest_files],
        "largestFiles": [_file(each) for each in found.largest_files],
        "recommendations": found.recommendations,
    }


def _check(found: BudgetCheck) -> Mapping[str, object]:
    if not found.exists:
        return {
            "file": found.file,
            "exists": False,
            "budgetBytes": found.budget_bytes,
            "overBudget": False,
        }
    return {
        "file": found.file,
        "exists": True,
        "sizeBytes": found.size_bytes,
        "budgetBytes": found.budget_bytes,
        "overBudget": found.over_budget,
        "budgetUsagePct": found.budget_usage_pct,
        "modifiedAt": found.modified_at,
    }


def _reference(found: ReferenceFile) -> Mapping[str, object]:
    if not found.exists:
        return {"file": found.file, "exists": False}
    return {
        "file": found.file,
        "exists": True,
        "sizeBytes": found.size_bytes,
        "modifiedAt": found.modified_at,
        "ageDays": found.age_days,
        "freshness": found.freshness,
    }


def _file(found: FileSize) -> Mapping[str, object]:
    return {
        "path": found.file,
        "sizeBytes": found.size_bytes,
        "modifiedAt": found.modified_at,
        "ageDays": found.age_days,
    }
