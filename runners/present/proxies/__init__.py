"""Proxies: tables and sentences."""
