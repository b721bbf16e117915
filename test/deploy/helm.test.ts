/** The Helm chart passes Helm's lint, and renders valid Kubernetes objects with the intended settings. Needs `.ci/install-helm`. */
import { describe, expect, it } from "vitest";
import type { Json } from "../support/api.ts";
import { chart, cluster, helm, renderedObjects } from "./rendering.ts";

const minimal = ["--set", "publicUrl=https://cadastre.example"];
const several = [...minimal, "--set", "database.kind=postgres,secret.name=cadastre,replicas=3"];
const store = "s3://bucket/contents?region=eu-central-1&endpoint=https://s3.example&path-style=true";
const onStore = [...several, "--set", `contents.store=${store}`];
const everything = [
  ...several,
  "--set",
  "ingress.enabled=true,ingress.tlsSecret=tls,ingress.className=nginx,metrics.serviceMonitor=true,networkPolicy.enabled=true",
  "--set",
  "image.pullSecrets={one},trustedProxies={10.0.0.0/8,::1},settings.CADASTRE_RATE_LIMIT=50,priorityClassName=high",
  "--set",
  "podLabels.team=platform,podAnnotations.note=x,nodeSelector.disk=ssd,tolerations[0].operator=Exists,service.annotations.a=b",
];

/** The rendered objects by kind. */
const rendered = (values: readonly string[], release = "cadastre"): Record<string, Json> =>
  Object.fromEntries(renderedObjects(values, release).map((object) => [object.kind, object]));

const podOf = (objects: Record<string, Json>): Json => objects["Deployment"]?.spec.template.spec;
const environmentOf = (objects: Record<string, Json>): Record<string, Json> =>
  Object.fromEntries(podOf(objects).containers[0].env.map((each: Json) => [each.name, each]));

describe("the chart", () => {
  it.each([
    ["one server", minimal],
    ["several servers", several],
    ["everything", everything],
    ["an object store", onStore],
  ])("passes Helm's lint: %s", (_, values) => {
    const { status, out } = helm("lint", "--strict", chart, ...cluster, ...values);
    expect({ status, out }).toMatchObject({ status: 0, out: expect.stringContaining("0 chart(s) failed") });
  });

  it("renders one server on a volume that survives uninstalling, without further preparation", () => {
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

  it("renders several servers on PostgreSQL, which all stay available during an update", () => {
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
    // Kubernetes removes the pod from the service, sends SIGTERM, and must give it time to finish its requests.
    expect(podOf(objects).terminationGracePeriodSeconds).toBeGreaterThan(40);
  });

  it("runs nothing as root, with a writable image or with access to the Kubernetes API", () => {
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

  it("configures liveness and readiness probes", () => {
    const [container] = podOf(rendered(minimal)).containers;
    expect(container.livenessProbe.httpGet).toEqual({ path: "/healthz", port: "http" });
    expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "http" });
    expect(container.startupProbe.httpGet).toEqual({ path: "/healthz", port: "http" });
  });

  it("renders an ingress, a service monitor and a network policy if enabled", () => {
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
    // The selectors match the labels.
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

  it("passes the object store and its credentials, which are optional because a service account can have a role", () => {
    const keys = ["--set", "contents.keepDays=14,secret.accessKeyIdKey=id"];
    expect(environmentOf(rendered([...onStore, ...keys]))).toMatchObject({
      CADASTRE_CONTENTS: { value: store },
      CADASTRE_CONTENTS_KEEP_DAYS: { value: "14" },
      AWS_ACCESS_KEY_ID: { valueFrom: { secretKeyRef: { name: "cadastre", key: "id", optional: true } } },
      AWS_SECRET_ACCESS_KEY: { valueFrom: { secretKeyRef: { key: "aws-secret-access-key", optional: true } } },
    });
    const role = "arn:aws:iam::123456789012:role/cadastre";
    const ofRole = [
      ...minimal,
      "--set",
      `contents.store=${store},serviceAccount.annotations.eks\\.amazonaws\\.com/role-arn=${role}`,
    ];
    const objects = rendered(ofRole);
    expect(objects["ServiceAccount"]?.metadata.annotations).toEqual({ "eks.amazonaws.com/role-arn": role });
    expect(environmentOf(objects)).not.toHaveProperty("AWS_ACCESS_KEY_ID");
  });

  it("passes nothing of the object store to servers that store contents in the database", () => {
    for (const values of [minimal, several])
      expect(Object.keys(environmentOf(rendered(values))).filter((name) => /CONTENTS|AWS/.test(name))).toEqual([]);
  });

  it("uses different names for two releases in a namespace", () => {
    const [one, other] = [rendered(minimal, "one"), rendered(minimal, "other")];
    for (const kind of Object.keys(one)) expect(one[kind]?.metadata.name).not.toBe(other[kind]?.metadata.name);
    expect(one["Service"]?.spec.selector).not.toEqual(other["Service"]?.spec.selector);
    expect(rendered(minimal, "n".repeat(53))["Deployment"]?.metadata.name.length).toBeLessThan(64);
  });

  it("uses an existing volume and service account", () => {
    const own = ["--set", "database.existingClaim=mine,serviceAccount.name=me"];
    const objects = rendered([...minimal, ...own]);
    expect(Object.keys(objects).sort()).toEqual(["Deployment", "Pod", "Service"]);
    expect(podOf(objects)).toMatchObject({ serviceAccountName: "me" });
    expect(podOf(objects).volumes).toContainEqual({ name: "data", persistentVolumeClaim: { claimName: "mine" } });
  });
});

describe("the chart is rejected with a message", () => {
  it.each([
    ["without a public URL", [], /publicUrl is required/],
    ["for several servers on the embedded database", [...minimal, "--set", "replicas=2"], /belongs to one server/],
    ["for PostgreSQL without a secret", [...minimal, "--set", "database.kind=postgres"], /secret\.name is required/],
    [
      "for a monitor without a secret",
      [...minimal, "--set", "metrics.serviceMonitor=true"],
      /secret\.name is required/,
    ],
    ["for an unknown setting", [...minimal, "--set", "settings.RATE=1"], /settings\.RATE is no setting/],
    [
      "for an object store among the settings",
      [...minimal, "--set", "settings.CADASTRE_CONTENTS=s3://bucket"],
      /Set contents\.store/,
    ],
    ["for an unknown kind of store", [...minimal, "--set", "contents.store=gs://bucket"], /store/],
    ["for a misspelled value", [...minimal, "--set", "replica=2"], /replica/],
    ["for an unknown kind of database", [...minimal, "--set", "database.kind=mysql"], /kind/],
  ])("%s", (_, values, sentence) => {
    const { status, err } = helm("template", "cadastre", chart, ...cluster, ...values);
    expect(status).not.toBe(0);
    expect(err).toMatch(sentence);
  });
});
