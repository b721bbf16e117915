/** Renders the Helm chart. Needs `.ci/install-helm`. */
import { spawnSync } from "node:child_process";
import { expect } from "vitest";
import type { Json } from "../support/api.ts";

export const chart = "deploy/helm/cadastre";
/** Helm built from source assumes an old cluster. */
export const cluster = ["--kube-version", "1.34.0"];

export function helm(...words: string[]) {
  const { status, stdout, stderr, error } = spawnSync("helm", words, { encoding: "utf8" });
  if (error !== undefined) throw error;
  return { status, out: stdout, err: stderr };
}

/** Validated against the Kubernetes types. */
export function renderedObjects(values: readonly string[], release: string): Json[] {
  const { status, out, err } = helm("template", release, chart, ...cluster, ...values);
  expect({ status, err }).toEqual({ status: 0, err: "" });
  const checked = spawnSync("strict", { input: out, encoding: "utf8" });
  expect({ status: checked.status, err: checked.stderr }).toEqual({ status: 0, err: "" });
  return checked.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Json);
}
