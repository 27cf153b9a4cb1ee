package batch

import "strconv"

// appendBatch is the encoder that belongs to simdjson-go.
func appendBatch(out []byte, batch *Batch) []byte {
	out = append(out, `{"operations":[`...)
	for i := range batch.Operations {
		if i > 0 {
			out = append(out, ',')
		}
		op := &batch.Operations[i]
		out = appendString(append(out, `{"method":`...), op.Method)
		out = appendString(append(out, `,"relative-url":`...), op.RelativeURL)
		out = append(appendBody(append(out, `,"body":`...), &op.Body), '}')
	}
	return append(out, `]}`...)
}

func appendBody(out []byte, body *Body) []byte {
	out = append(out, `{"filters":[`...)
	for i := range body.Filters {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendString(append(out, `{"column":`...), body.Filters[i].Column)
		out = append(appendScalar(append(out, `,"value":`...), &body.Filters[i].Value), '}')
	}
	out = append(out, ']')
	if body.ReadColumns != nil {
		out = append(out, `,"readColumns":[`...)
		for i := range body.ReadColumns {
			if i > 0 {
				out = append(out, ',')
			}
			column := &body.ReadColumns[i]
			out = appendString(append(out, `{"column":`...), column.Column)
			if column.DataReturnType.Given {
				out = appendString(append(out, `,"dataReturnType":`...), column.DataReturnType.Text)
			}
			out = append(out, '}')
		}
		out = append(out, ']')
	}
	if body.OperationID.Given {
		out = appendString(append(out, `,"operationId":`...), body.OperationID.Text)
	}
	return append(out, '}')
}

func appendScalar(out []byte, s *Scalar) []byte {
	switch s.Kind {
	case Bool:
		return strconv.AppendBool(out, s.Bool)
	case Number:
		return strconv.AppendFloat(out, s.Number, 'g', -1, 64)
	case Text:
		return appendString(out, s.Text)
	default:
		return append(out, "null"...)
	}
}

// appendString quotes s, which is valid UTF-8: only quotes, backslashes and control characters need an escape.
func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		out = append(out, s[start:i]...)
		if b < ' ' {
			out = append(out, '\\', 'u', '0', '0', hex[b>>4], hex[b&0xF])
		} else {
			out = append(out, '\\', b)
		}
		start = i + 1
	}
	out = append(out, s[start:]...)
	return append(out, '"')
}
