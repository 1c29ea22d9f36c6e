"""Deployments: connections, members, rights, the oplog, readiness."""
