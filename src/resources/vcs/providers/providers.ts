/** Maps an OAuth client's `service-provider` to its implementation. */
import type { ServiceProvider } from "../../connections/oauth-clients/providers.ts";
import { azureDevops } from "./azure-devops.ts";
import { bitbucketCloud } from "./bitbucket-cloud.ts";
import { bitbucketDataCenter } from "./bitbucket-data-center.ts";
import { forgejo, gitea } from "./gitea.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import type { VcsProvider } from "./provider.ts";

const providers: Readonly<Record<ServiceProvider, VcsProvider>> = {
  github,
  github_enterprise: github,
  gitlab_hosted: gitlab,
  gitlab_community_edition: gitlab,
  gitlab_enterprise_edition: gitlab,
  bitbucket_hosted: bitbucketCloud,
  bitbucket_data_center: bitbucketDataCenter,
  bitbucket_server: bitbucketDataCenter,
  bitbucket_server_legacy: bitbucketDataCenter,
  ado_services: azureDevops,
  ado_server: azureDevops,
  gitea,
  forgejo,
};

export const providerOf = (serviceProvider: string): VcsProvider => providers[serviceProvider as ServiceProvider];
