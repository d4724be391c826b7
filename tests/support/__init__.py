"""What tests, benchmarks and training share: fakes, tiny models, sample reports, servers."""
