/** The arguments, files, environment and configuration of engines. */
import { describe, expect, it } from "vitest";
import { applyArguments, compareVersions, initArguments, isAtLeast, planArguments } from "../../src/agent/engines.ts";
import {
  cliConfiguration,
  environmentOf,
  hostOf,
  canBeSet,
  secretsOf,
  variableFile,
} from "../../src/agent/variables.ts";
import { type JobDocument, parseJob } from "../../src/agent/job.ts";
import { laterOverrides, canNameBackend } from "../../src/agent/overrides.ts";
import { bubblewrapArguments } from "../../src/sandbox/bubblewrap.ts";

const job = (attributes: Record<string, unknown> = {}): JobDocument =>
  parseJob({
    data: {
      id: "plan-1",
      attributes: {
        attempt: 1,
        phase: "plan",
        "run-id": "run-1",
        "workspace-id": "ws-1",
        "workspace-name": "network",
        "organization-name": "acme",
        "project-id": "prj-1",
        "project-name": "Default Project",
        "engine-version": "1.5.7",
        token: "the-token-of-the-run",
        server: "https://cadastre.example/",
        "configuration-url": "/c",
        "timeout-seconds": 60,
        ...attributes,
      },
    },
  });
const terraform = (version: string) => ({ product: "terraform", version }) as const;
const variable = { category: "terraform", hcl: false, sensitive: false } as const;
const planned = {
  plan: "/job/output/plan",
  variables: ["/job/private/v.tfvars.json"],
  generated: "/job/output/generated.tf",
};

describe("the arguments of plan", () => {
  it("have no options for a run without options", () => {
    expect(planArguments(job(), planned)).toEqual([
      "plan",
      "-input=false",
      "-detailed-exitcode",
      "-out=/job/output/plan",
      "-var-file=/job/private/v.tfvars.json",
    ]);
  });

  it.each([
    [{ structured: true }, ["-json"]],
    [{ "is-destroy": true }, ["-destroy"]],
    [{ "refresh-only": true, refresh: false }, ["-refresh-only"]],
    [{ refresh: false }, ["-refresh=false"]],
    [
      { "target-addrs": ["a.b; rm -rf /", "-x"], "replace-addrs": ['m["k"].c'] },
      ["-target=a.b; rm -rf /", "-target=-x", '-replace=m["k"].c'],
    ],
    [{ "allow-config-generation": true }, ["-generate-config-out=/job/output/generated.tf"]],
    [{ variables: [{ ...variable, category: "env", key: "TFE_PARALLELISM", value: "20" }] }, ["-parallelism=20"]],
    [{ variables: [{ ...variable, category: "env", key: "TFE_PARALLELISM", value: "257" }] }, []],
    [{ variables: [{ ...variable, category: "env", key: "TFE_PARALLELISM", value: "0" }] }, []],
  ])("contain the run's options: %j", (attributes, words) => {
    const usual = planArguments(job(), planned);
    expect(planArguments(job(attributes), planned).filter((word) => !usual.includes(word))).toEqual(words);
  });
});

describe("the arguments of apply", () => {
  it("end with the plan, and pass variables only to engines that accept them", () => {
    expect(applyArguments(job({ structured: true }), terraform("1.5.7"), planned)).toEqual([
      "apply",
      "-input=false",
      "-json",
      "/job/output/plan",
    ]);
    expect(applyArguments(job(), terraform("1.10.0"), planned)).toEqual([
      "apply",
      "-input=false",
      "-var-file=/job/private/v.tfvars.json",
      "/job/output/plan",
    ]);
    expect(applyArguments(job(), terraform("1.9.8"), planned)).not.toContain("-var-file=/job/private/v.tfvars.json");
  });
});

describe("the arguments of init", () => {
  it("keep the lock file in an apply, and pass variables to OpenTofu, which evaluates them in init", () => {
    expect(initArguments(job(), terraform("1.13.3"), ["/v"])).toEqual(["init", "-input=false", "-no-color"]);
    expect(initArguments(job({ phase: "apply" }), terraform("1.5.7"), [])).toContain("-lockfile=readonly");
    expect(initArguments(job(), { product: "tofu", version: "1.12.6" }, ["/v"])).toContain("-var-file=/v");
    expect(initArguments(job(), { product: "tofu", version: "1.7.0" }, ["/v"])).not.toContain("-var-file=/v");
  });
});

describe("variables", () => {
  const values = [
    { ...variable, key: "plain", value: 'a "b"\n${c} %{d}' },
    { ...variable, key: "__proto__", value: "x" },
    { ...variable, key: "list", value: '["a", 12345678901234567890]', hcl: true },
    { ...variable, key: "no identifier", value: "x" },
    { ...variable, key: 'a": 1, "guard', value: "x" },
    { ...variable, key: "ENV", value: "x", category: "env" as const },
  ];

  it("are written to one JSON file", () => {
    expect(variableFile(values)).toBe(
      `{\n  "plain": ${JSON.stringify(values[0]?.value)},\n  "__proto__": "x",\n  "list": ["a",12345678901234567890]\n}\n`,
    );
    expect(variableFile(values.slice(3))).toBeUndefined();
  });

  it("must be literals if they are HCL, so that none can set another variable; the error names all others", () => {
    const evil = { ...variable, key: "evil", value: '"${/* " { */ 1}"\nguard = "evil"', hcl: true };
    expect(() => variableFile([...values, evil, { ...evil, key: "other", value: "1\nguard = 2" }])).toThrow(
      /^The HCL value of the variable evil can't be used: .+ \(line 1, column 3\)\. The HCL value of the variable other can't be used: .+ Correct it and start another run\.$/,
    );
  });
});

describe("the environment", () => {
  const places = {
    home: "/job/home",
    tmp: "/tmp",
    cliConfiguration: "/job/private/cli.tfrc",
    sshKey: "/job/private/ssh-key",
    gitConfiguration: "/job/private/gitconfig",
    knownHosts: { file: "/job/private/known_hosts", isComplete: false },
    ca: undefined,
  };
  const env = (key: string, value = "evil") => ({ ...variable, category: "env" as const, key, value });

  it.each([
    "PATH",
    "HOME",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "TF_CLI_CONFIG_FILE",
    "TF_DATA_DIR",
    "TF_WORKSPACE",
    "TF_IN_AUTOMATION",
    "TF_INPUT",
    "GCONV_PATH",
    "TF_TOKEN_x",
    "A=B",
    "",
  ])("rejects the workspace variable '%s'", (name) => {
    expect(canBeSet(name)).toBe(false);
    const { variables, refused } = environmentOf(job({ variables: [env(name)] }), places);
    expect(Object.values(variables)).not.toContain("evil");
    expect(refused).toEqual([name]);
  });

  it.each([
    ["TF_CLI_ARGS_plan", "-destroy", false],
    ["TF_CLI_ARGS", "-no-color --destroy=true", false],
    ["TF_CLI_ARGS_apply", `-de"str"'oy'`, false],
    ["TF_CLI_ARGS_plan", "-parallelism=4 -var=a=-destroyed", true],
    ["ARGS", "-destroy", true],
  ])("%s=%s is accepted: %s, because only the run's options can request a destroy", (name, value, isTaken) => {
    const { variables, refused } = environmentOf(job({ variables: [env(name, value)] }), places);
    expect([variables[name], refused]).toEqual(isTaken ? [value, []] : [undefined, [name]]);
  });

  it("has the run's variables under both prefixes, and nothing of the agent's environment", () => {
    const { variables } = environmentOf(
      job({
        variables: [env("TFC_RUN_ID"), env("AWS_REGION", "eu-1")],
        commit: { branch: "main", sha: "abc", tag: null },
        "identity-tokens": [{ name: "TFC_WORKLOAD_IDENTITY_TOKEN", value: "jwt" }],
      }),
      places,
    );
    expect(variables).toMatchObject({
      AWS_REGION: "eu-1",
      TFC_RUN_ID: "run-1",
      TF_VAR_TFC_RUN_ID: "run-1",
      TFE_RUN_ID: "run-1",
      TFC_WORKSPACE_SLUG: "acme/network",
      TF_VAR_TFC_PROJECT_NAME: "Default Project",
      TFC_CONFIGURATION_VERSION_GIT_BRANCH: "main",
      TFC_WORKLOAD_IDENTITY_TOKEN: "jwt",
      TF_WORKSPACE: "network",
      CHECKPOINT_DISABLE: "1",
    });
    expect(variables).not.toHaveProperty("TFC_CONFIGURATION_VERSION_GIT_TAG");
    expect(variables).not.toHaveProperty("TF_LOG");
    expect(Object.keys(variables)).not.toEqual(expect.arrayContaining(["USER"]));
  });

  it("has the SSH command and trace logging if the job requests them", () => {
    const { variables } = environmentOf(job({ "ssh-key": "KEY", "debugging-mode": true }), places);
    expect(variables["GIT_SSH_COMMAND"]).toBe(
      "ssh -i /job/private/ssh-key -o IdentitiesOnly=yes -o BatchMode=yes -o UserKnownHostsFile=/job/private/known_hosts -o StrictHostKeyChecking=accept-new",
    );
    expect(variables["TF_LOG"]).toBe("TRACE");
    const strict = environmentOf(job({ "ssh-key": "KEY" }), {
      ...places,
      knownHosts: { file: "/k", isComplete: true },
    });
    expect(strict.variables["GIT_SSH_COMMAND"]).toContain("-o UserKnownHostsFile=/k -o StrictHostKeyChecking=yes");
  });

  it("lists the secrets of a job", () => {
    const jobWithSecrets = job({
      "ssh-key": "KEY",
      "identity-tokens": [{ name: "T", value: "jwt" }],
      variables: [
        { ...variable, key: "a", value: "open" },
        { ...variable, key: "b", value: "closed", sensitive: true },
        { ...variable, key: "c", value: '["inner"]', hcl: true, sensitive: true },
      ],
    });
    expect(secretsOf(jobWithSecrets)).toEqual(["the-token-of-the-run", "jwt", "KEY", "closed", '["inner"]', "inner"]);
  });
});

describe("the engine's configuration file", () => {
  it("has the token and services for both host names of the server, and the mirror", () => {
    expect(
      cliConfiguration({
        publicUrl: "https://cadastre.example",
        agentUrl: "http://127.0.0.1:8080",
        token: "t",
        mirror: "/mirror",
        direct: false,
      }),
    ).toMatchInlineSnapshot(`
      "disable_checkpoint = true

      credentials "cadastre.example" {
        token = "t"
      }

      host "cadastre.example" {
        services = {
          "tfe.v2" = "http://127.0.0.1:8080/api/v2/"
          "tfe.v2.1" = "http://127.0.0.1:8080/api/v2/"
          "tfe.v2.2" = "http://127.0.0.1:8080/api/v2/"
          "state.v2" = "http://127.0.0.1:8080/api/v2/"
        }
      }

      credentials "127.0.0.1:8080" {
        token = "t"
      }

      host "127.0.0.1:8080" {
        services = {
          "tfe.v2" = "http://127.0.0.1:8080/api/v2/"
          "tfe.v2.1" = "http://127.0.0.1:8080/api/v2/"
          "tfe.v2.2" = "http://127.0.0.1:8080/api/v2/"
          "state.v2" = "http://127.0.0.1:8080/api/v2/"
        }
      }

      provider_installation {
        filesystem_mirror {
          path = "/mirror"
        }
      }
      "
    `);
  });

  it("uses the registries without a mirror", () => {
    const text = cliConfiguration({
      publicUrl: "https://a.example",
      agentUrl: "https://a.example",
      token: "t",
      mirror: undefined,
      direct: true,
    });
    expect(text).toContain("provider_installation {\n  direct {}\n}");
    expect(text.match(/credentials/g)).toHaveLength(1);
  });

  it("supports a network mirror", () => {
    const text = cliConfiguration({
      publicUrl: "https://a.example",
      agentUrl: "https://a.example",
      token: "t",
      mirror: "https://mirror.example/p/",
      direct: false,
    });
    expect(text).toContain('network_mirror {\n    url = "https://mirror.example/p/"');
  });

  it.each([
    ["https://a.example", "a.example"],
    ["https://a.example:8443/sub", "a.example:8443"],
    ["http://a.example", "a.example:80"],
  ])("uses the right host of %s", (url, host) => expect(hostOf(url)).toBe(host));
});

describe("versions", () => {
  it("are ordered by their numbers", () => {
    const versions = ["1.10.0", "1.9.8", "1.10.0-beta1", "1.5.7", "1.10.0-alpha"];
    expect(versions.sort(compareVersions)).toEqual(["1.5.7", "1.9.8", "1.10.0-alpha", "1.10.0-beta1", "1.10.0"]);
    expect([isAtLeast("1.10.0-beta1", "1.10.0"), isAtLeast("1.9.8", "1.10.0")]).toEqual([true, false]);
  });
});

describe("override files", () => {
  it("are rejected if engines read them after ours, or instead of it", () => {
    const names = [
      "main.tf",
      "a_override.tf",
      "override.tf",
      "zzzz_override.tf",
      "zzzzz_override.tf",
      "zzzz_cadastre_override.tf.json",
      "zzzz_cadastre_override.tofu",
      "zzzzz_override.tofu.json",
      "zzzz_cadastre_override.tf",
    ];
    expect(laterOverrides(names)).toEqual([
      "zzzz_override.tf",
      "zzzzz_override.tf",
      "zzzz_cadastre_override.tf.json",
      "zzzz_cadastre_override.tofu",
      "zzzzz_override.tofu.json",
    ]);
    expect([
      canNameBackend('terraform { backend "s3" {} }'),
      canNameBackend('{"terraform":{"cloud":{}}}'),
      canNameBackend(String.raw`{"terraform":{"b\u0061ckend":{"local":{"path":"other.tfstate"}}}}`),
      canNameBackend("locals {}"),
    ]).toEqual([true, true, true, false]);
  });
});

describe("bubblewrap's arguments", () => {
  it("mount only the job, the engine and the system, and clear the environment first", () => {
    const words = bubblewrapArguments(
      { program: "/engine/terraform", words: ["plan"], environment: { SECRET: "s" }, directory: "/job/configuration" },
      {
        job: "/home/jobs/run-1",
        engine: "/engines/terraform/1.5.7/terraform",
        mirror: "/m",
        ca: undefined,
        knownHosts: undefined,
      },
      { tmpBytes: 1000, identities: "/home/etc" },
    );
    for (const word of [
      "--unshare-user",
      "--unshare-pid",
      "--unshare-ipc",
      "--disable-userns",
      "--die-with-parent",
      "--new-session",
      "--clearenv",
      "--as-pid-1",
    ])
      expect(words).toContain(word);
    expect(words.indexOf("--clearenv")).toBeLessThan(words.indexOf("--setenv"));
    const writable = words.flatMap((word, at) => (word === "--bind" ? [words[at + 1]] : []));
    expect(writable).toEqual(["/home/jobs/run-1"]);
    const readOnly = words.flatMap((word, at) => (word.startsWith("--ro-bind") ? [words[at + 1]!] : []));
    expect(readOnly.filter((path) => !/^\/(usr|etc|lib|bin|sbin)/.test(path))).toEqual([
      "/home/etc/passwd",
      "/home/etc/group",
      "/engines/terraform/1.5.7",
      "/m",
    ]);
    expect(readOnly).not.toContain("/etc");
  });
});
