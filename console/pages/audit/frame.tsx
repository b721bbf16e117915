/** What stands around the pages of an organization's trail: what was changed, and who is told of it. */
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { paths } from "../../paths.ts";
import { Page } from "../../ui/page.tsx";

interface AuditFrameProps {
  readonly about: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function AuditFrame({ about, actions, children }: AuditFrameProps) {
  const { organization } = useParams({ strict: false }) as { organization: string };
  return (
    <Page
      title="Audit"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about={about}
      actions={actions}
      tabs={[
        { label: "Trail", to: paths.audit(organization) },
        { label: "Webhooks", to: paths.auditWebhooks(organization) },
      ]}
    >
      {children}
    </Page>
  );
}
