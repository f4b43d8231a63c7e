"""Schedules of upkeep by systemd or cron."""

from __future__ import annotations
