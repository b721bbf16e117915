/** The frame of the lists of rules and of violations. */
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { paths } from "../../paths.ts";
import { LinkButton } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";

interface RulesFrameProps {
  readonly actions?: ReactNode;
  readonly children: (organization: string) => ReactNode;
}

export function RulesFrame({ actions, children }: RulesFrameProps) {
  const { organization } = useParams({ from: "/inside/$organization" });
  return (
    <Page
      title="Rules"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="Policies in Cedar that every change of access must satisfy."
      actions={actions ?? <LinkButton to={paths.newAccessRule(organization)}>New rule</LinkButton>}
      tabs={[
        { label: "Rules", to: paths.accessRules(organization) },
        { label: "Violations", to: paths.accessViolations(organization) },
      ]}
    >
      {children(organization)}
    </Page>
  );
}

export const rulesCrumbs = (organization: string) => [
  { label: organization, to: paths.organization(organization) },
  { label: "Rules", to: paths.accessRules(organization) },
];
