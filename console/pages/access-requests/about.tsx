/** The details and the timeline of an access request. */
import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import { type AccessChange, expiryOf, hasUnlimited } from "../../access/changes.ts";
import { paths } from "../../paths.ts";
import { durationText } from "../../ui/duration.ts";
import { Link } from "../../ui/link.tsx";
import { DescriptionList, Section } from "../../ui/page.tsx";
import { Expires, Identifier, When } from "../../ui/text.tsx";
import classes from "../../ui/timeline.module.css";
import type { RequestDetails } from "./details.ts";

export function AboutRequest({ details }: { readonly details: RequestDetails }) {
  const { organization, request, requester } = details;
  const { reason, status, "duration-seconds": seconds, "created-at": createdAt } = request.attributes;
  const expiry = expiryOf(request.attributes);
  const isUnlimited = seconds === null && hasUnlimited(request.attributes.changes as readonly AccessChange[]);
  const requesterId = request.relationships.requester?.data?.id;
  return (
    <Section title="About">
      <DescriptionList
        label="About this request"
        items={{
          "Requested by": requesterId ? (
            <Link to={paths.person(organization, requesterId)}>{requester}</Link>
          ) : (
            requester
          ),
          Created: <When time={createdAt} />,
          Reason: <span style={{ whiteSpace: "pre-wrap" }}>{reason}</span>,
          Duration: seconds !== null && durationText(seconds),
          Expires: isUnlimited ? "never" : expiry && <Expires time={expiry} />,
          Lapses: status === "pending" && <Expires time={request.attributes["lapses-at"]} />,
          ID: <Identifier value={request.id} />,
        }}
      />
    </Section>
  );
}

const decisions: Readonly<Record<string, string>> = {
  approved: "Approved",
  denied: "Denied",
  withdrawn: "Withdrawn",
  lapsed: "Lapsed",
};

export function RequestTimeline({ details }: { readonly details: RequestDetails }) {
  const { request, requester, decider } = details;
  const { status, "created-at": createdAt, "decided-at": decidedAt, "lapses-at": lapsesAt } = request.attributes;
  const { "decision-comment": comment } = request.attributes;
  const isAutomatic = status === "approved" && decider === undefined;
  const by = decider ?? (status === "withdrawn" ? requester : undefined);
  const expiry = expiryOf(request.attributes);
  return (
    <Section title="Timeline">
      <ol className={classes["timeline"]}>
        <Event title="Requested" by={requester} time={createdAt} />
        {status !== "pending" && (
          <Event
            title={isAutomatic ? "Taken without approval" : (decisions[status] ?? status)}
            by={by}
            time={decidedAt ?? lapsesAt}
          >
            {comment && (
              <Text fz="sm" className={classes["comment"]}>
                {comment}
              </Text>
            )}
          </Event>
        )}
        {expiry && (
          <li>
            <b>Access</b>{" "}
            <Text span c="dimmed" fz="sm">
              <Expires time={expiry} isSentence />
            </Text>
          </li>
        )}
      </ol>
    </Section>
  );
}

interface EventProps {
  readonly title: string;
  readonly by: string | undefined;
  readonly time: string;
  readonly children?: ReactNode;
}

function Event({ title, by, time, children }: EventProps) {
  return (
    <li>
      <b>{title}</b>
      {by && <> by {by}</>}{" "}
      <Text span c="dimmed" fz="sm">
        <When time={time} />
      </Text>
      {children}
    </li>
  );
}
