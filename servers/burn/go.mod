module wrkbook/burn

go 1.24
