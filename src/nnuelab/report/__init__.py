"""What people read: tables of experiments, and summaries of every artifact.

The room gathers what the rooms below have measured; it measures nothing itself.
"""
