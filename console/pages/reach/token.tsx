/** The reach of a token. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Reach } from "../../access/reach.tsx";
import { paths } from "../../paths.ts";
import { Expires } from "../../ui/expires.tsx";
import { Page } from "../../ui/page.tsx";
import { When } from "../../ui/text.tsx";
import { token as tokenQuery } from "../../api/detail-queries.ts";

export default function TokenReachPage() {
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
