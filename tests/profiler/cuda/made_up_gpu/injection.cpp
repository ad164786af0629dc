// Nothing: where `stowplan-profile record` looks for the library that records; the recorded commands do its part.
