/** The kinds of VCS providers, and their names. */
export const serviceProviders = [
  "ado_server",
  "ado_services",
  "bitbucket_data_center",
  "bitbucket_hosted",
  "bitbucket_server",
  "bitbucket_server_legacy",
  "forgejo",
  "gitea",
  "github",
  "github_enterprise",
  "gitlab_hosted",
  "gitlab_community_edition",
  "gitlab_enterprise_edition",
] as const;
export type ServiceProvider = (typeof serviceProviders)[number];

export const providerNames: Readonly<Record<ServiceProvider, string>> = {
  ado_server: "Azure DevOps Server",
  ado_services: "Azure DevOps Services",
  bitbucket_data_center: "Bitbucket Data Center",
  bitbucket_hosted: "Bitbucket Cloud",
  bitbucket_server: "Bitbucket Server",
  bitbucket_server_legacy: "Bitbucket Server (before 5.4)",
  forgejo: "Forgejo",
  gitea: "Gitea",
  github: "GitHub",
  github_enterprise: "GitHub Enterprise",
  gitlab_hosted: "GitLab.com",
  gitlab_community_edition: "GitLab Community Edition",
  gitlab_enterprise_edition: "GitLab Enterprise Edition",
};

/** They use a pair of keys, so a client can be created without a token. */
export const keyPairProviders: ReadonlySet<string> = new Set<ServiceProvider>([
  "bitbucket_data_center",
  "bitbucket_server",
  "bitbucket_server_legacy",
]);
