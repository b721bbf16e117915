/** What the Helm chart makes: accepted by Helm's own lint, by Kubernetes' own types, and as we mean it. Needs `.ci/install-helm`. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { Json } from "../support/api.ts";

const chart = "deploy/helm/cadastre";
/** Built from source, Helm takes any cluster for an old one. */
const cluster = ["--kube-version", "1.34.0"];
const minimal = ["--set", "publicUrl=https://cadastre.example"];
const several = [...minimal, "--set", "database.kind=postgres,secret.name=cadastre,replicas=3"];
const everything = [
  ...several,
  "--set",
  "ingress.enabled=true,ingress.tlsSecret=tls,ingress.className=nginx,metrics.serviceMonitor=true,networkPolicy.enabled=true",
  "--set",
  "image.pullSecrets={one},trustedProxies={10.0.0.0/8,::1},settings.CADASTRE_RATE_LIMIT=50,priorityClassName=high",
  "--set",
  "podLabels.team=platform,podAnnotations.note=x,nodeSelector.disk=ssd,tolerations[0].operator=Exists,service.annotations.a=b",
];

function helm(...words: string[]) {
  const { status, stdout, stderr, error } = spawnSync("helm", words, { encoding: "utf8" });
  if (error !== undefined) throw error;
  return { status, out: stdout, err: stderr };
}

/** The objects that a release would have, by their kinds; each is of the type that Kubernetes has for it. */
function rendered(values: readonly string[], release = "cadastre"): Record<string, Json> {
  const { status, out, err } = helm("template", release, chart, ...cluster, ...values);
  expect({ status, err }).toEqual({ status: 0, err: "" });
  const checked = spawnSync("strict", { input: out, encoding: "utf8" });
  expect({ status: checked.status, err: checked.stderr }).toEqual({ status: 0, err: "" });
  const objects = checked.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Json);
  return Object.fromEntries(objects.map((object) => [object.kind, object]));
}

const podOf = (objects: Record<string, Json>): Json => objects["Deployment"]?.spec.template.spec;
const environmentOf = (objects: Record<string, Json>): Record<string, Json> =>
  Object.fromEntries(podOf(objects).containers[0].env.map((each: Json) => [each.name, each]));

describe("the chart", () => {
  it.each([
    ["one server", minimal],
    ["several servers", several],
    ["everything", everything],
  ])("passes Helm's lint: %s", (_, values) => {
    const { status, out } = helm("lint", "--strict", chart, ...cluster, ...values);
    expect({ status, out }).toMatchObject({ status: 0, out: expect.stringContaining("0 chart(s) failed") });
  });

  it("makes one server on a volume that stays, with nothing else to prepare", () => {
    const objects = rendered(minimal);
    expect(Object.keys(objects).sort()).toEqual([
      "Deployment",
      "PersistentVolumeClaim",
      "Pod",
      "Service",
      "ServiceAccount",
    ]);
    expect(objects["Deployment"]?.spec).toMatchObject({ replicas: 1, strategy: { type: "Recreate" } });
    expect(objects["PersistentVolumeClaim"]?.metadata.annotations).toEqual({ "helm.sh/resource-policy": "keep" });
    expect(podOf(objects).volumes).toContainEqual({ name: "data", persistentVolumeClaim: { claimName: "cadastre" } });
    expect(environmentOf(objects)).toMatchObject({ CADASTRE_PUBLIC_URL: { value: "https://cadastre.example" } });
    expect(environmentOf(objects)).not.toHaveProperty("CADASTRE_DATABASE");
  });

  it("makes several servers on PostgreSQL, of which none is missing during an update", () => {
    const objects = rendered(several);
    expect(objects["Deployment"]?.spec).toMatchObject({
      replicas: 3,
      strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    });
    expect(objects).toHaveProperty("PodDisruptionBudget");
    expect(objects).not.toHaveProperty("PersistentVolumeClaim");
    const { CADASTRE_DATABASE: database, CADASTRE_ENCRYPTION_KEY: key } = environmentOf(objects);
    expect(database?.valueFrom.secretKeyRef).toMatchObject({ name: "cadastre", key: "database-url" });
    expect(key?.valueFrom.secretKeyRef).toMatchObject({ key: "encryption-key", optional: false });
    expect(podOf(objects).topologySpreadConstraints).toHaveLength(1);
    expect(podOf(objects).containers[0].lifecycle.preStop.exec.command).toEqual(["sleep", "10"]);
    // It is taken out of the service, told to end, and finishes what runs before it is killed.
    expect(podOf(objects).terminationGracePeriodSeconds).toBeGreaterThan(40);
  });

  it("lets nothing run as root, write to its image, or ask the cluster for anything", () => {
    for (const values of [minimal, everything]) {
      const objects = rendered(values);
      for (const pod of [podOf(objects), objects["Pod"]?.spec]) {
        expect(pod).toMatchObject({
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: "RuntimeDefault" } },
        });
        for (const { securityContext } of pod.containers)
          expect(securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          });
      }
    }
  });

  it("asks the service whether it is alive and whether it is ready", () => {
    const [container] = podOf(rendered(minimal)).containers;
    expect(container.livenessProbe.httpGet).toEqual({ path: "/healthz", port: "http" });
    expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "http" });
    expect(container.startupProbe.httpGet).toEqual({ path: "/healthz", port: "http" });
  });

  it("leads an ingress, a monitor and a policy to it where they are asked for", () => {
    const objects = rendered(everything);
    const backend = { service: { name: "cadastre", port: { name: "http" } } };
    expect(objects["Ingress"]?.spec).toMatchObject({
      ingressClassName: "nginx",
      tls: [{ hosts: ["cadastre.example"], secretName: "tls" }],
      rules: [{ host: "cadastre.example", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
    });
    expect(objects["Ingress"]?.metadata.annotations).toMatchObject({
      "nginx.ingress.kubernetes.io/proxy-body-size": "256m",
    });
    const endpoint = objects["ServiceMonitor"]?.spec.endpoints[0];
    expect(endpoint).toMatchObject({ path: "/metrics", authorization: { credentials: { key: "metrics-token" } } });
    expect(objects["NetworkPolicy"]?.spec.ingress).toMatchObject([{ from: [{ podSelector: {} }] }]);
    expect(environmentOf(objects)).toMatchObject({
      CADASTRE_RATE_LIMIT: { value: "50" },
      CADASTRE_TRUSTED_PROXIES: { value: "10.0.0.0/8,::1" },
    });
    // What one thing selects the others have on them.
    const labels = objects["Deployment"]?.spec.template.metadata.labels;
    for (const selector of [
      objects["Deployment"]?.spec.selector.matchLabels,
      objects["Service"]?.spec.selector,
      objects["PodDisruptionBudget"]?.spec.selector.matchLabels,
      objects["NetworkPolicy"]?.spec.podSelector.matchLabels,
    ])
      expect(labels).toMatchObject(selector);
    expect(objects["Service"]?.metadata.labels).toMatchObject(objects["ServiceMonitor"]?.spec.selector.matchLabels);
  });

  it("keeps names apart: two releases in a namespace have nothing in common", () => {
    const [one, other] = [rendered(minimal, "one"), rendered(minimal, "other")];
    for (const kind of Object.keys(one)) expect(one[kind]?.metadata.name).not.toBe(other[kind]?.metadata.name);
    expect(one["Service"]?.spec.selector).not.toEqual(other["Service"]?.spec.selector);
    expect(rendered(minimal, "n".repeat(53))["Deployment"]?.metadata.name.length).toBeLessThan(64);
  });

  it("takes a volume and an account that are there already", () => {
    const own = ["--set", "database.existingClaim=mine,serviceAccount.name=me"];
    const objects = rendered([...minimal, ...own]);
    expect(Object.keys(objects).sort()).toEqual(["Deployment", "Pod", "Service"]);
    expect(podOf(objects)).toMatchObject({ serviceAccountName: "me" });
    expect(podOf(objects).volumes).toContainEqual({ name: "data", persistentVolumeClaim: { claimName: "mine" } });
  });
});

describe("is refused, with a sentence", () => {
  it.each([
    ["without an address", [], /publicUrl is required/],
    ["for several servers on the embedded database", [...minimal, "--set", "replicas=2"], /belongs to one server/],
    ["for PostgreSQL without a secret", [...minimal, "--set", "database.kind=postgres"], /secret\.name is required/],
    [
      "for a monitor without a secret",
      [...minimal, "--set", "metrics.serviceMonitor=true"],
      /secret\.name is required/,
    ],
    ["for a setting of another name", [...minimal, "--set", "settings.RATE=1"], /settings\.RATE is no setting/],
    ["for a value that is misspelled", [...minimal, "--set", "replica=2"], /replica/],
    ["for a kind of database that there is not", [...minimal, "--set", "database.kind=mysql"], /kind/],
  ])("%s", (_, values, sentence) => {
    const { status, err } = helm("template", "cadastre", chart, ...cluster, ...values);
    expect(status).not.toBe(0);
    expect(err).toMatch(sentence);
  });
});
