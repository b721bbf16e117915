/** The frame of the site administration pages. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { account } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Page } from "../../ui/page.tsx";
import { QueryContent, Empty } from "../../components/states.tsx";

interface SiteFrameProps {
  readonly part?: string | undefined;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function SiteFrame({ part, actions, children }: SiteFrameProps) {
  const me = useQuery(account());
  return (
    <Page
      title="Site administration"
      part={part}
      crumbs={[{ label: "Organizations", to: paths.home() }]}
      actions={me.data?.data.attributes["is-site-admin"] && actions}
      tabs={[
        { label: "Users", to: paths.site() },
        { label: "Organizations", to: paths.siteOrganizations() },
        ...(me.data?.isHosted ? [] : [{ label: "Runs", to: paths.siteRuns() }]),
        { label: "Agent pools", to: paths.siteAgentPools() },
        { label: "Terraform versions", to: paths.siteVersions() },
        { label: "Single sign-on", to: paths.siteProviders() },
      ]}
    >
      <QueryContent query={me}>
        {({ data }) =>
          data.attributes["is-site-admin"] ? (
            children
          ) : (
            <Empty title="Site admins only">
              You are signed in as {data.attributes.username}, who is not a site admin.
            </Empty>
          )
        }
      </QueryContent>
    </Page>
  );
}
