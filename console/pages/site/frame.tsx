/** What stands around the pages of those who run the site. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { account } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Page } from "../../ui/page.tsx";
import { Asked, Empty } from "../../ui/states.tsx";

interface SiteFrameProps {
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function SiteFrame({ actions, children }: SiteFrameProps) {
  const me = useQuery(account());
  return (
    <Page
      title="Site administration"
      crumbs={[{ label: "Organizations", to: paths.home() }]}
      actions={me.data?.data.attributes["is-site-admin"] && actions}
      tabs={[
        { label: "Users", to: paths.site() },
        { label: "Organizations", to: paths.siteOrganizations() },
        { label: "Engine versions", to: paths.siteVersions() },
        { label: "Single sign-on", to: paths.siteProviders() },
      ]}
    >
      <Asked query={me}>
        {({ data }) =>
          data.attributes["is-site-admin"] ? (
            children
          ) : (
            <Empty title="For site admins">You are signed in as {data.attributes.username}, who is none.</Empty>
          )
        }
      </Asked>
    </Page>
  );
}
