/** The frame of the pages of an organization's audit log: its events and its webhooks. */
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
  const { organization } = useParams({ from: "/inside/$organization" });
  return (
    <Page
      title="Audit log"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about={about}
      actions={actions}
      tabs={[
        { label: "Events", to: paths.audit(organization) },
        { label: "Webhooks", to: paths.auditWebhooks(organization) },
      ]}
    >
      {children}
    </Page>
  );
}
