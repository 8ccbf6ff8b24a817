"""The control stream, detector's side: sessions, answers to holds, delivery of directives, heartbeats."""
