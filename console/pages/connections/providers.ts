/** The supported providers, with the URLs of their public services. */

import type { Attributes } from "../../api/client.ts";

export interface ProviderChoice {
  readonly value: Attributes<"oauth-clients">["service-provider"];
  readonly label: string;
  readonly api: string;
  readonly http: string;
  readonly about?: string;
}

const own = { api: "", http: "" };
const ofAzure = "End it with your organization so that repositories can be listed: https://dev.azure.com/acme";

export const providers: readonly [ProviderChoice, ...ProviderChoice[]] = [
  { value: "github", label: "GitHub", api: "https://api.github.com", http: "https://github.com" },
  { ...own, value: "github_enterprise", label: "GitHub Enterprise", about: "For example https://HOST/api/v3" },
  { value: "gitlab_hosted", label: "GitLab.com", api: "https://gitlab.com/api/v4", http: "https://gitlab.com" },
  {
    ...own,
    value: "gitlab_community_edition",
    label: "GitLab (self-managed)",
    about: "For example https://HOST/api/v4",
  },
  { ...own, value: "gitlab_enterprise_edition", label: "GitLab Enterprise", about: "For example https://HOST/api/v4" },
  {
    value: "bitbucket_hosted",
    label: "Bitbucket Cloud",
    api: "https://api.bitbucket.org/2.0",
    http: "https://bitbucket.org",
  },
  { ...own, value: "bitbucket_data_center", label: "Bitbucket Data Center", about: "Same as the URL" },
  {
    value: "ado_services",
    label: "Azure DevOps",
    api: "https://dev.azure.com",
    http: "https://dev.azure.com",
    about: ofAzure,
  },
  { ...own, value: "ado_server", label: "Azure DevOps Server", about: "Same as the URL" },
  { ...own, value: "gitea", label: "Gitea", about: "For example https://HOST/api/v1" },
  { ...own, value: "forgejo", label: "Forgejo", about: "For example https://HOST/api/v1" },
];
