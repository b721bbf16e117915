/** What people are told: a heading and facts, in the forms of Slack, of Microsoft Teams and of mail. Pure. */
import type { Told } from "./happenings.ts";
import { headingOf } from "./headings.ts";
import { linkOf, type Sender } from "./links.ts";

type Fact = readonly [label: string, value: string];

function factsOf(told: Told): readonly Fact[] {
  if (told.about === "verification") return [];
  const place: readonly Fact[] = [
    ["Workspace", `${told.organizationName}/${told.workspaceName}`],
    ["Event", told.trigger],
  ];
  switch (told.about) {
    case "run":
      return [
        ...place,
        ["Run", told.runId],
        ["Message", told.runMessage],
        ["Status", told.runStatus],
        ["Created by", told.runCreatedBy ?? "nobody: it was caused"],
        ["Created at", told.runCreatedAt],
        ["Changed at", told.runUpdatedAt],
        ...(told.runUpdatedBy === null ? [] : [["Changed by", told.runUpdatedBy] as const]),
      ];
    case "assessment":
      return [
        ...place,
        ["Resources that drifted", String(told.now.resourcesDrifted)],
        ["Checks that failed", String(told.now.checksFailed + told.now.checksErrored)],
        ["Assessed at", told.now.createdAt],
      ];
    case "auto-destroy":
      return [
        ...place,
        ...(told.runId === null ? [] : [["Run", told.runId] as const]),
        ...(told.autoDestroyAt === null ? [] : [["To be destroyed at", told.autoDestroyAt] as const]),
        ...(told.error === null ? [] : [["Why not", told.error] as const]),
      ];
  }
}

/** People's own words may be long; a message is not the place for all of them. */
const valueMax = 500;
const short = (text: string): string => (text.length > valueMax ? `${text.slice(0, valueMax)}…` : text);

/** Slack takes these three for its own marks. */
const slackText = (text: string): string =>
  short(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** For an incoming webhook of Slack. */
export function slackMessageOf(sender: Sender, told: Told): object {
  const heading = slackText(headingOf(sender, told));
  const lines = factsOf(told).map(([label, value]) => `*${label}:* ${slackText(value)}`);
  const text = [`*<${linkOf(sender, told)}|${heading}>*`, ...lines].join("\n");
  return { text: heading, blocks: [{ type: "section", text: { type: "mrkdwn", text } }] };
}

/** An adaptive card, for an incoming webhook or a workflow of Microsoft Teams. */
export function teamsMessageOf(sender: Sender, told: Told): object {
  const facts = factsOf(told).map(([title, value]) => ({ title, value: short(value) }));
  const heading = { type: "TextBlock", text: headingOf(sender, told), weight: "bolder", size: "medium", wrap: true };
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [heading, ...(facts.length > 0 ? [{ type: "FactSet", facts }] : [])],
    actions: [{ type: "Action.OpenUrl", title: "Open", url: linkOf(sender, told) }],
  };
  return {
    type: "message",
    attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content }],
  };
}

export function mailOf(sender: Sender, told: Told): { subject: string; text: string } {
  const heading = headingOf(sender, told);
  const place = told.about === "verification" ? "" : `${told.organizationName}/${told.workspaceName}: `;
  const lines = factsOf(told).map(([label, value]) => `${label}: ${value}`);
  return {
    subject: `${place}${heading}`,
    text: [heading, "", ...lines, "", linkOf(sender, told), ""].join("\n"),
  };
}
