{{- define "masquerade.labels" -}}
app.kubernetes.io/name: masquerade
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "masquerade.nodeLabels" -}}
{{ include "masquerade.labels" . }}
app.kubernetes.io/component: node
{{- end }}

{{- define "masquerade.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end }}
