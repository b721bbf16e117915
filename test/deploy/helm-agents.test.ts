/** The agents of the Helm chart: none by default, a Deployment, or a container for each job with KEDA. Needs `.ci/install-helm`. */
import { describe, expect, it } from "vitest";
import type { Json } from "../support/api.ts";
import { chart, cluster, helm, renderedObjects } from "./rendering.ts";

const minimal = ["--set", "publicUrl=https://cadastre.example"];
const secret = [...minimal, "--set", "agents.secret.name=pool"];
const deployment = [...secret, "--set", "agents.kind=deployment,agents.replicas=3,agents.slots=2"];
const scaled = [...secret, "--set", "agents.kind=scaled-job,agents.poolId=apool-1,agents.maxReplicas=50"];
const everything = [
  ...scaled,
  "--set",
  "agents.server=https://inside.example/,agents.secret.key=token,agents.userNamespace=true,agents.sandbox=bubblewrap",
  "--set",
  "agents.engines.persistentVolumeClaim.claimName=engines,agents.settings.CADASTRE_JOB_DISK_MEGABYTES=100,priorityClassName=high",
  "--set",
  "agents.podLabels.team=platform,agents.podAnnotations.note=x,agents.nodeSelector.disk=ssd,agents.tolerations[0].operator=Exists,image.pullSecrets={one}",
];

const agentsIn = (values: readonly string[]): Json[] =>
  renderedObjects(values, "cadastre").filter(
    ({ metadata }) => metadata.labels["app.kubernetes.io/component"] === "agent",
  );
const objectOf = (values: readonly string[], kind: string): Json =>
  agentsIn(values).find((object) => object.kind === kind);
const environmentOf = ({ containers: [container] }: Json): Record<string, Json> =>
  Object.fromEntries(container.env.map(({ name, ...rest }: Json) => [name, rest.value ?? rest.valueFrom.secretKeyRef]));

describe("the chart's agents", () => {
  it("are none by default", () => {
    expect(agentsIn(minimal)).toEqual([]);
  });

  it.each([
    ["a deployment", deployment],
    ["a scaled job", scaled],
    ["everything", everything],
  ])("pass Helm's lint: %s", (_, values) => {
    const { status, out } = helm("lint", "--strict", chart, ...cluster, ...values);
    expect({ status, out }).toMatchObject({ status: 0, out: expect.stringContaining("0 chart(s) failed") });
  });

  it("are a deployment, which the server's service does not select", () => {
    const [agents, ...others] = agentsIn(deployment);
    expect(others).toEqual([]);
    expect(agents).toMatchObject({ kind: "Deployment", metadata: { name: "cadastre-agents" }, spec: { replicas: 3 } });
    const pod = agents.spec.template;
    expect(pod.metadata.labels).toMatchObject(agents.spec.selector.matchLabels);
    expect(pod.spec.containers[0].args).toEqual(["agent"]);
    expect(environmentOf(pod.spec)).toEqual({
      CADASTRE_AGENT_SERVER: "https://cadastre.example",
      CADASTRE_AGENT_TOKEN: { name: "pool", key: "agent-token" },
      CADASTRE_AGENT_DIRECTORY: "/data/agent",
      CADASTRE_AGENT_SLOTS: "2",
      CADASTRE_ENGINES: "/data/engines",
      CADASTRE_SANDBOX: "user",
    });
    for (const { kind, spec } of renderedObjects(deployment, "cadastre"))
      if (kind === "Service") expect(pod.metadata.labels).not.toMatchObject(spec.selector);
  });

  it("are a container for each job, started by the pool's queue with the agents' token", () => {
    const job = objectOf(scaled, "ScaledJob");
    expect(job.spec).toMatchObject({
      maxReplicaCount: 50,
      pollingInterval: 10,
      rollout: { strategy: "gradual" },
      scalingStrategy: { strategy: "accurate" },
      jobTargetRef: { backoffLimit: 0 },
    });
    expect(job.spec.triggers).toEqual([
      {
        type: "metrics-api",
        metadata: {
          url: "https://cadastre.example/api/v2/agent-pools/apool-1/queue",
          valueLocation: "data.attributes.waiting",
          targetValue: "1",
          authMode: "bearer",
        },
        authenticationRef: { name: "cadastre-agents" },
      },
    ]);
    expect(objectOf(scaled, "TriggerAuthentication")).toMatchObject({
      metadata: { name: "cadastre-agents" },
      spec: { secretTargetRef: [{ parameter: "token", name: "pool", key: "agent-token" }] },
    });
    const pod = job.spec.jobTargetRef.template.spec;
    expect(pod).toMatchObject({ restartPolicy: "Never", terminationGracePeriodSeconds: 7200 });
    expect(pod.containers[0].args).toEqual(["agent", "--once", "--wait", "60"]);
    // The first agent makes the server offer runs.
    const first = objectOf(scaled, "Job");
    expect(first.metadata.name).toBe("cadastre-agents-1");
    expect(first.spec.template.spec.containers[0].args).toEqual(["agent", "--once", "--wait", "0"]);
  });

  it("have no access to Kubernetes, a read-only image, and volumes in which jobs can't replace anything", () => {
    for (const values of [deployment, scaled]) {
      const agents = objectOf(values, values === scaled ? "ScaledJob" : "Deployment");
      const pod = (agents.spec.template ?? agents.spec.jobTargetRef.template).spec;
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsUser: 0, seccompProfile: { type: "RuntimeDefault" } },
      });
      for (const { securityContext } of [...pod.initContainers, ...pod.containers])
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"], add: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"] },
        });
      expect(pod.initContainers[0].command.at(-1)).toBe("chmod 0711 /data && chmod 1777 /tmp");
      expect(pod.initContainers[0].volumeMounts).toEqual(pod.containers[0].volumeMounts);
    }
  });

  it("fetch engines into a volume of their own, which only the agent can write", () => {
    for (const values of [deployment, scaled]) {
      const agents = objectOf(values, values === scaled ? "ScaledJob" : "Deployment");
      const pod = (agents.spec.template ?? agents.spec.jobTargetRef.template).spec;
      const { CADASTRE_ENGINES, CADASTRE_ENGINE_MIRROR } = environmentOf(pod);
      expect([CADASTRE_ENGINES, CADASTRE_ENGINE_MIRROR]).toEqual(["/data/engines", undefined]);
      expect(pod.containers[0].volumeMounts).toContainEqual({ name: "data", mountPath: "/data" });
      expect(pod.volumes).toEqual([
        { name: "data", emptyDir: {} },
        { name: "tmp", emptyDir: {} },
      ]);
    }
  });

  it("are not root with another sandbox, and use a volume with engines that they can only read", () => {
    const pod = objectOf(everything, "ScaledJob").spec.jobTargetRef.template.spec;
    expect(pod).toMatchObject({
      hostUsers: false,
      nodeSelector: { disk: "ssd" },
      tolerations: [{ operator: "Exists" }],
      priorityClassName: "high",
      imagePullSecrets: [{ name: "one" }],
      securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: "Unconfined" } },
    });
    expect(pod.initContainers).toBeUndefined();
    expect(pod.containers[0].securityContext.capabilities).toEqual({ drop: ["ALL"] });
    expect(pod.containers[0].volumeMounts).toContainEqual({ name: "engines", mountPath: "/engines", readOnly: true });
    expect(pod.volumes).toContainEqual({ name: "engines", persistentVolumeClaim: { claimName: "engines" } });
    expect(environmentOf(pod)).toMatchObject({
      CADASTRE_AGENT_SERVER: "https://inside.example",
      CADASTRE_AGENT_TOKEN: { name: "pool", key: "token" },
      CADASTRE_ENGINES: "/engines",
      CADASTRE_JOB_DISK_MEGABYTES: "100",
      CADASTRE_SANDBOX: "bubblewrap",
    });
  });

  it.each([
    ["without a secret", [...minimal, "--set", "agents.kind=deployment"], /agents\.secret\.name is required/],
    ["without a pool", [...secret, "--set", "agents.kind=scaled-job"], /agents\.poolId is required/],
    ["of an unknown kind", [...secret, "--set", "agents.kind=many"], /kind/],
    [
      "with an unknown setting",
      [...deployment, "--set", "agents.settings.SLOTS=1"],
      /agents\.settings\.SLOTS is no setting/,
    ],
  ])("are rejected %s", (_, values, sentence) => {
    const { status, err } = helm("template", "cadastre", chart, ...cluster, ...values);
    expect(status).not.toBe(0);
    expect(err).toMatch(sentence);
  });
});
