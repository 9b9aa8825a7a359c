//! Compaction: how a zone is searched for pages to move and for places to move them to.
