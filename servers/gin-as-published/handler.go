package main

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"
)

// The contract's bounds, as gin's users write them: the validator finds the tags by reflection and walks every value.
type batch struct {
	Operations []operation `json:"operations" binding:"required,min=1,max=4096,dive"`
}

type operation struct {
	Method      string `json:"method" binding:"required,oneof=POST"`
	RelativeURL string `json:"relative-url" binding:"required,min=1"`
	Body        *body  `json:"body" binding:"required"`
}

type body struct {
	Filters     []filter     `json:"filters" binding:"required,min=1,max=4096,dive"`
	ReadColumns []readColumn `json:"readColumns" binding:"omitempty,max=4096,dive"`
	OperationID *string      `json:"operationId" binding:"omitempty,max=64"`
}

type filter struct {
	Column string `json:"column" binding:"required,min=1,max=64"`
	Value  any    `json:"value"`
}

type readColumn struct {
	Column         string  `json:"column" binding:"required,min=1,max=64"`
	DataReturnType *string `json:"dataReturnType" binding:"omitempty,max=64"`
}

var (
	answer   = []byte(`{"message":"OK"}`)
	typeJSON = "application/json"
)

func newHandler() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.HandleMethodNotAllowed = true
	router.RedirectTrailingSlash = false
	router.NoRoute(func(c *gin.Context) { c.JSON(http.StatusNotFound, gin.H{"error": "no such path"}) })
	router.NoMethod(func(c *gin.Context) { c.JSON(http.StatusMethodNotAllowed, gin.H{"error": "no such method here"}) })
	router.POST("/dbop/:db/:table", decode((*gin.Context).ShouldBindJSON))
	router.POST("/dbop-unvalidated/:db/:table", decode(unvalidated))
	return router
}

// unvalidated does what ShouldBindJSON does before it validates.
func unvalidated(c *gin.Context, into any) error { return json.NewDecoder(c.Request.Body).Decode(into) }

func decode(bind func(*gin.Context, any) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		var read batch
		if err := bind(c, &read); err != nil {
			c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
			return
		}
		c.Data(http.StatusOK, typeJSON, answer)
	}
}
