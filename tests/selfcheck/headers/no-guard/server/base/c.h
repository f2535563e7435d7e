struct c { int n; };
