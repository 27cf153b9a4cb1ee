package main

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"
)

var (
	// The published program sends OK without the quotes; the contract requires some JSON.
	quotedOK = []byte(`"OK"`)
	typeJSON = "application/json"
)

func newHandler() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.HandleMethodNotAllowed = true
	router.RedirectTrailingSlash = false
	router.NoRoute(func(c *gin.Context) { c.JSON(http.StatusNotFound, gin.H{"error": "no such path"}) })
	router.NoMethod(func(c *gin.Context) { c.JSON(http.StatusMethodNotAllowed, gin.H{"error": "no such method here"}) })
	router.POST("/dbop/:db/:table", handle(validated))
	router.POST("/dbop/:db/:table/echo", handle(encoded))
	router.POST("/dbop-unvalidated/:db/:table", handle(unvalidated))
	router.POST("/dbopsimd/:db/:table", handle(parsed))
	return router
}

// handle refuses a bad body with 400. The published program refuses some with 500, and ends at one that simdjson-go refuses.
func handle(read func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		var to target
		_ = c.ShouldBindUri(&to)
		if err := read(c); err != nil {
			c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()})
			return
		}
		c.Data(http.StatusOK, typeJSON, quotedOK)
	}
}

func validated(c *gin.Context) error { return c.ShouldBindJSON(new(batch)) }

// unvalidated does what ShouldBindJSON does before it validates.
func unvalidated(c *gin.Context) error { return json.NewDecoder(c.Request.Body).Decode(new(batch)) }

// encoded encodes the batch again, and does not send it.
func encoded(c *gin.Context) error {
	var read batch
	if err := c.ShouldBindJSON(&read); err != nil {
		return err
	}
	_, err := json.Marshal(read)
	return err
}

func parsed(c *gin.Context) error {
	var read bytes.Buffer
	if _, err := read.ReadFrom(c.Request.Body); err != nil {
		return err
	}
	_, err := parse(read.Bytes())
	return err
}
