/** Attributes with two names. Documents have both; a request sends either, or both with one value. See docs/api.md#attribute-aliases. */
export const aliases: Readonly<Record<string, string>> = {
  "engine-version": "terraform-version",
  "policy-mocks": "sentinel-mocks",
  "apply-timeout": "terraform-build-worker-apply-timeout",
  "plan-timeout": "terraform-build-worker-plan-timeout",
};

export function withAliases(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const shown: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    shown[name] = withAliases(member);
    const alias = aliases[name];
    if (alias !== undefined) shown[alias] = shown[name];
  }
  return shown;
}
