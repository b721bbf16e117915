/** OpenTofu releases that agents can fetch. They are not rows, because clients list Terraform's versions. */

export const openTofuReleases: readonly string[] = [
  "1.6.3",
  "1.8.0",
  "1.8.5",
  "1.8.8",
  "1.8.11",
  "1.9.1",
  "1.9.4",
  "1.10.6",
  "1.10.10",
  "1.12.6",
];
