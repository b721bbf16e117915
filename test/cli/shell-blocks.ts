/** Every shell block of the documents for operators: how the test runs it, or why it can't. */
import { readFileSync } from "node:fs";

/** How a block is run: in the reader's terminal, or in a separate one because it ends with a server. */
export interface BlockPlan {
  /** The beginning of the block. */
  readonly begins: string;
  readonly run?: "paste" | "serve";
  /** Programs besides npm and curl, without which the block is skipped. */
  readonly needs?: readonly string[];
  /** What the surrounding text requires first. */
  readonly first?: "restart" | "stop";
  /** Why no test of this kind can run it. */
  readonly cannot?: string;
}

const byPackageTest = "'npm run test:package' builds the package and starts it with npx; it takes minutes";
const bySystemdTry = "needs root and systemd; deploy/systemd/try does it in a Debian of its own";
const byContainerTry = "needs root and podman or buildah; deploy/container/try builds and starts the image";
const byContentsTests = "needs an S3 server; 'npm run test:contents' carries it out";
const withoutCluster = "needs a Kubernetes cluster and a registry; 'npm run test:helm' checks the chart";

export const plans: Readonly<Record<string, readonly BlockPlan[]>> = {
  "README.md": [
    { begins: "npm ci && npm start", run: "serve" },
    { begins: "api() {", run: "paste", needs: ["curl"] },
    { begins: "api /organizations -d", run: "paste", needs: ["curl"] },
    { begins: "PROJECT=$(api", run: "paste", needs: ["curl"] },
    { begins: "api /organizations/acme/workspaces \\", run: "paste", needs: ["curl"] },
    { begins: 'api "/organizations/acme/workspaces?', run: "paste", needs: ["curl"] },
    { begins: "npm ci && npm test", cannot: "it is the run that this test is a part of" },
  ],
  "docs/tutorial.md": [
    { begins: "VERSION=$(terraform version", run: "paste", needs: ["terraform"] },
    { begins: "export CADASTRE_WORKERS=1", run: "serve", needs: ["terraform"] },
    { begins: "api() {", run: "paste", needs: ["terraform", "curl"] },
    { begins: "mkdir -p data/hello", run: "paste", needs: ["terraform", "curl"] },
    { begins: "cat > data/hello/main.tf", run: "paste", needs: ["terraform", "curl"] },
    { begins: "node bin/cadastre.js user create grace", run: "paste", needs: ["terraform", "curl"] },
    { begins: "TEAM=$(api", run: "paste", needs: ["terraform", "curl"] },
    { begins: "WORKSPACE=$(api", run: "paste", needs: ["terraform", "curl"] },
    { begins: 'api "/workspaces/$WORKSPACE/access', run: "paste", needs: ["terraform", "curl"] },
    { begins: 'api "/organizations/acme/audit-events', run: "paste", needs: ["terraform", "curl"] },
  ],
  "docs/install.md": [
    { begins: "npm ci && npm start", run: "serve" },
    { begins: "npm ci && npm run build && npm pack", cannot: byPackageTest },
    { begins: "npx --yes ./cadastre-*.tgz serve", cannot: byPackageTest },
    {
      begins: "npm ci && npm run release -- --snapshot",
      cannot: "builds every archive, which takes minutes; test/packaging tests the parts",
    },
    { begins: "tar xzf cadastre-*-linux-*.tar.gz", cannot: "needs the archive that the release makes" },
    { begins: "./systemd/install", cannot: bySystemdTry },
    { begins: "runuser -u cadastre --", cannot: bySystemdTry },
    { begins: "apt-get install -y mmdebstrap", cannot: byContainerTry },
    { begins: "podman run --detach", cannot: byContainerTry },
    { begins: "cp example.env .env", cannot: "needs docker and a public name; deploy/compose/try starts it" },
    { begins: "helm install cadastre", cannot: withoutCluster },
    { begins: "kubectl create secret", cannot: withoutCluster },
    { begins: "kubectl patch secret", cannot: withoutCluster },
  ],
  "docs/operations.md": [
    { begins: "export CADASTRE_CONTENTS=", cannot: byContentsTests },
    { begins: "cadastre contents move --to s3", cannot: byContentsTests },
    { begins: "cadastre contents move --to database", cannot: byContentsTests },
    { begins: "cadastre backup rows.backup", cannot: byContentsTests },
    { begins: "cadastre restore rows.backup", cannot: byContentsTests },
    { begins: "cadastre() {", run: "paste" },
    { begins: "npm ci\nnpm start", run: "serve" },
    { begins: "cadastre user create grace", run: "paste" },
    { begins: "cadastre token revoke $(", run: "paste" },
    { begins: "cadastre serve --check", run: "paste" },
    { begins: "export CADASTRE_ADDRESS=", run: "paste" },
    { begins: "NAME=$(hostname)", run: "serve", needs: ["openssl", "hostname"] },
    { begins: "openssl rand -hex 32", run: "paste", needs: ["openssl"] },
    { begins: "(umask 077; { openssl rand", run: "paste", needs: ["openssl"] },
    { begins: "cadastre key rotate &&", run: "paste", needs: ["openssl"], first: "restart" },
    { begins: "mkdir -p data\n(umask 077; set -C;", run: "paste", needs: ["openssl"] },
    { begins: "createdb cadastre", cannot: "needs PostgreSQL's client programs; the test makes the database itself" },
    {
      begins: "export CADASTRE_DATABASE=postgres://cadastre:PASSWORD@db.example/cadastre\nexport",
      run: "serve",
      needs: ["openssl", "hostname"],
    },
    { begins: "cadastre job list", run: "paste", first: "stop" },
    { begins: "cadastre backup cadastre.backup", run: "paste" },
    { begins: "cadastre backup verify", run: "paste" },
    {
      begins: "pg_basebackup",
      cannot: "needs a PostgreSQL that archives its log; 'npm run proof:faults -- point-in-time' carries it out",
    },
    { begins: "# 1. Stop the service", run: "serve" },
  ],
  "docs/upgrading.md": [],
};

export const blocksOf = (document: string): string[] =>
  [...readFileSync(document, "utf8").matchAll(/^```(?:sh|bash|shell)\n(.*?)^```/gms)].map(([, block = ""]) => block);

/** Exactly one, unless the list above is wrong. */
export const plansFor = (document: string, block: string): BlockPlan[] =>
  (plans[document] ?? []).filter(({ begins }) => block.startsWith(begins));
