{{- define "cadastre.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "cadastre.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end -}}

{{- define "cadastre.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
{{ include "cadastre.selector" . }}
{{- end -}}

{{- define "cadastre.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "cadastre.account" -}}
{{ .Values.serviceAccount.name | default (include "cadastre.name" .) }}
{{- end -}}

{{/* What can't work is refused here, with a sentence, before anything is installed. */}}
{{- define "cadastre.check" -}}
{{- if not .Values.publicUrl -}}
{{- fail "publicUrl is required: the address by which clients reach the service, such as https://cadastre.example." -}}
{{- end -}}
{{- if and (eq .Values.database.kind "sqlite") (gt (int .Values.replicas) 1) -}}
{{- fail "replicas is more than 1, but the embedded database belongs to one server. Set database.kind to postgres, or replicas to 1." -}}
{{- end -}}
{{- if and (eq .Values.database.kind "postgres") (not .Values.secret.name) -}}
{{- fail "secret.name is required with postgres: the name of a secret that has the database's address and the encryption key." -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor (not .Values.secret.name) -}}
{{- fail "secret.name is required with metrics.serviceMonitor: the name of a secret that has the metrics token." -}}
{{- end -}}
{{- range $name, $_ := .Values.settings -}}
{{- if not (hasPrefix "CADASTRE_" $name) -}}
{{- fail (printf "settings.%s is no setting: their names begin with CADASTRE_." $name) -}}
{{- end -}}
{{- if hasPrefix "CADASTRE_CONTENTS" $name -}}
{{- fail (printf "settings.%s would not pass the store's credentials. Set contents.store and contents.keepDays instead." $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "cadastre.environment" -}}
- name: CADASTRE_PUBLIC_URL
  value: {{ .Values.publicUrl | quote }}
- name: CADASTRE_GRACE_SECONDS
  value: {{ .Values.graceSeconds | quote }}
{{- with .Values.contents }}
{{- if ne .store "database" }}
- name: CADASTRE_CONTENTS
  value: {{ .store | quote }}
- name: CADASTRE_CONTENTS_KEEP_DAYS
  value: {{ .keepDays | quote }}
{{- end }}
{{- end }}
{{- with .Values.trustedProxies }}
- name: CADASTRE_TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.secret }}
{{- if .name }}
{{- if eq $.Values.database.kind "postgres" }}
- name: CADASTRE_DATABASE
  valueFrom:
    secretKeyRef:
      name: {{ .name | quote }}
      key: {{ .databaseKey | quote }}
{{- end }}
- name: CADASTRE_ENCRYPTION_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .name | quote }}
      key: {{ .encryptionKey | quote }}
      optional: {{ ne $.Values.database.kind "postgres" }}
- name: CADASTRE_ADMIN_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ .name | quote }}
      key: {{ .adminTokenKey | quote }}
      optional: true
- name: CADASTRE_METRICS_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ .name | quote }}
      key: {{ .metricsTokenKey | quote }}
      optional: {{ not $.Values.metrics.serviceMonitor }}
{{- if ne $.Values.contents.store "database" }}
- name: AWS_ACCESS_KEY_ID
  valueFrom:
    secretKeyRef:
      name: {{ .name | quote }}
      key: {{ .accessKeyIdKey | quote }}
      optional: true
- name: AWS_SECRET_ACCESS_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .name | quote }}
      key: {{ .secretAccessKeyKey | quote }}
      optional: true
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- define "cadastre.pod" -}}
metadata:
  labels:
    {{- include "cadastre.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "cadastre.account" . }}
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: {{ add .Values.drainSeconds .Values.graceSeconds 15 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . | quote }}
    {{- end }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  containers:
    - name: cadastre
      image: {{ include "cadastre.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env:
        {{- include "cadastre.environment" . | nindent 8 }}
      ports:
        - name: http
          containerPort: 8080
      {{- if .Values.drainSeconds }}
      # It goes on answering while others are told that it is leaving; only then is it told to end.
      lifecycle:
        preStop:
          exec:
            command: [sleep, {{ .Values.drainSeconds | quote }}]
      {{- end }}
      # The schema is made before it listens, which may take its time.
      startupProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 2
        failureThreshold: 300
      livenessProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if eq .Values.database.kind "postgres" }}
    - name: data
      emptyDir: {}
    {{- else }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ .Values.database.existingClaim | default (include "cadastre.name" .) }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.affinity }}
  affinity:
    {{- toYaml .Values.affinity | nindent 4 }}
  {{- else if gt (int .Values.replicas) 1 }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "cadastre.selector" . | nindent 10 }}
  {{- end }}
{{- end -}}
