/** The reach of a team, a person and a token, and the offboarding of a person. */
import { Reach } from "../../access/reach.tsx";
import { paths } from "../../paths.ts";
import { LinkButton } from "../../ui/link.tsx";
import { TeamFrame } from "../teams/frame.tsx";
import { PersonFrame, personOf } from "../people/frame.tsx";
import { Offboarding } from "../../access/offboarding.tsx";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Expires, When } from "../../ui/text.tsx";
import { Page } from "../../ui/page.tsx";
import { token as tokenQuery } from "../../api/detail-queries.ts";

export function TeamReach() {
  return (
    <TeamFrame
      actions={({ organization, team }) => (
        <LinkButton to={paths.grant(organization, { team: team.id })}>Grant access</LinkButton>
      )}
    >
      {({ organization, team }) => <Reach organization={organization} of={{ team: team.id }} />}
    </TeamFrame>
  );
}

export function PersonReach() {
  return (
    <PersonFrame>
      {({ organization, user }) => <Reach organization={organization} of={{ user: user.id }} />}
    </PersonFrame>
  );
}

export function PersonOffboarding() {
  return <PersonFrame>{(details) => <Offboarding {...personOf(details)} />}</PersonFrame>;
}

export function TokenReach() {
  const { organization, token } = useParams({ from: "/inside/$organization/tokens/$token" });
  const known = useQuery(tokenQuery(token)).data?.data;
  return (
    <Page
      title={known?.attributes.description || "Token"}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Tokens", to: paths.tokens(organization) },
      ]}
      about={
        known && (
          <>
            Last used <When time={known.attributes["last-used-at"]} none="never" /> ·{" "}
            <Expires time={known.attributes["expired-at"]} isSentence />
          </>
        )
      }
    >
      <Reach organization={organization} of={{ token }} />
    </Page>
  );
}
