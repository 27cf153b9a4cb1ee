module shared/cpuprofile

go 1.27
