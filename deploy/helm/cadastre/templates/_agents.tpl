{{- define "cadastre.agents.name" -}}
{{ include "cadastre.name" . }}-agents
{{- end -}}

{{- define "cadastre.agents.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: agent
{{- end -}}

{{- define "cadastre.agents.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
{{ include "cadastre.agents.selector" . }}
{{- end -}}

{{- define "cadastre.agents.server" -}}
{{ .Values.agents.server | default .Values.publicUrl | trimSuffix "/" }}
{{- end -}}

{{- define "cadastre.agents.check" -}}
{{- if not .Values.agents.secret.name -}}
{{- fail "agents.secret.name is required with agents: the name of a secret with the token of an agent pool." -}}
{{- end -}}
{{- if and (eq .Values.agents.kind "scaled-job") (not .Values.agents.poolId) -}}
{{- fail "agents.poolId is required with agents.kind=scaled-job: the id of the agent pool that the token belongs to, such as apool-…" -}}
{{- end -}}
{{- range $name, $_ := .Values.agents.settings -}}
{{- if not (hasPrefix "CADASTRE_" $name) -}}
{{- fail (printf "agents.settings.%s is no setting: their names begin with CADASTRE_." $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Takes the arguments of `cadastre` and, for a job, its restart policy. */}}
{{- define "cadastre.agents.pod" -}}
{{- $agents := .root.Values.agents -}}
{{- $asRoot := eq $agents.sandbox "user" -}}
metadata:
  labels:
    {{- include "cadastre.agents.labels" .root | nindent 4 }}
    {{- with $agents.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $agents.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if .isJob }}
  restartPolicy: Never
  {{- end }}
  serviceAccountName: {{ include "cadastre.account" .root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $agents.graceSeconds }}
  {{- if $agents.userNamespace }}
  hostUsers: false
  {{- end }}
  securityContext:
    {{- if $asRoot }}
    runAsUser: 0
    runAsGroup: 0
    {{- else }}
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    {{- end }}
    seccompProfile:
      {{- /* RuntimeDefault refuses what bubblewrap needs to make namespaces. */}}
      type: {{ ternary "Unconfined" "RuntimeDefault" (eq $agents.sandbox "bubblewrap") }}
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . | quote }}
    {{- end }}
  {{- end }}
  {{- with .root.Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- if $asRoot }}
  initContainers:
    # Anybody could rename what is in an empty volume, and jobs run as users of their own.
    - name: own
      image: {{ include "cadastre.image" .root | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      command: [sh, -c, "chmod 0711 /data && chmod 1777 /tmp"]
      securityContext:
        {{- include "cadastre.agents.security" .root | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
  {{- end }}
  containers:
    - name: agent
      image: {{ include "cadastre.image" .root | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: {{ toJson .args }}
      env:
        - name: CADASTRE_AGENT_SERVER
          value: {{ include "cadastre.agents.server" .root | quote }}
        - name: CADASTRE_AGENT_TOKEN
          valueFrom:
            secretKeyRef:
              name: {{ $agents.secret.name | quote }}
              key: {{ $agents.secret.key | quote }}
        # A plan can be applied only in the directory in which it was made.
        - name: CADASTRE_AGENT_DIRECTORY
          value: /data/agent
        {{- if not (hasKey $agents.settings "CADASTRE_ENGINES") }}
        - name: CADASTRE_ENGINES
          value: {{ ternary "/engines" "/data/engines" (not (empty $agents.engines)) }}
        {{- end }}
        - name: CADASTRE_SANDBOX
          value: {{ $agents.sandbox | quote }}
        {{- if eq $agents.kind "deployment" }}
        - name: CADASTRE_AGENT_SLOTS
          value: {{ $agents.slots | quote }}
        {{- end }}
        {{- range $name, $value := $agents.settings }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      resources:
        {{- toYaml $agents.resources | nindent 8 }}
      securityContext:
        {{- include "cadastre.agents.security" .root | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
        {{- if $agents.engines }}
        - name: engines
          mountPath: /engines
          readOnly: true
        {{- end }}
  volumes:
    - name: data
      emptyDir: {}
    - name: tmp
      emptyDir: {}
    {{- with $agents.engines }}
    - name: engines
      {{- toYaml . | nindent 6 }}
    {{- end }}
  {{- with $agents.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $agents.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* With the sandbox `user` the agent is root, to give each job its own user. */}}
{{- define "cadastre.agents.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
  {{- if eq .Values.agents.sandbox "user" }}
  add: [CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID]
  {{- end }}
{{- end -}}
