package main

// The batch as the published program declares it: a pointer for every value, and tags for gin's validator, which finds them by
// reflection. The tags of readColumns have no dive, so its items are not validated.
type batch struct {
	Operations *[]operation `json:"operations" binding:"required,min=1,max=4096,unique,dive"`
}

type operation struct {
	Method      *string `json:"method" binding:"required,oneof=POST"`
	RelativeURL *string `json:"relative-url" binding:"required,min=1"`
	Body        *body   `json:"body" binding:"required"`
}

type body struct {
	Filters     *[]filter     `json:"filters" binding:"required,min=1,max=4096,dive"`
	ReadColumns *[]readColumn `json:"readColumns" binding:"omitempty,min=1,max=4096,unique"`
	OperationID *string       `json:"operationId" binding:"omitempty"`
}

type filter struct {
	Column *string `json:"column" binding:"required,min=1,max=64"`
	Value  *string `json:"value" binding:"required"`
}

type readColumn struct {
	Column         *string `json:"column"`
	DataReturnType *string `json:"dataReturnType"`
}

// target is the path's parameters, which the published program validates as well; it does not refuse bad ones.
type target struct {
	Database *string `uri:"db" binding:"required,min=1,max=64"`
	Table    *string `uri:"table" binding:"required,min=1,max=64"`
}
