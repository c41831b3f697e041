"""The 14 queries of LUBM, as published, for a closure under the schema."""

from __future__ import annotations

UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
PREFIX = f"PREFIX ub: <{UB}>\n"
_UNIVERSITY = "<http://www.University0.edu>"
_DEPARTMENT = "<http://www.Department0.University0.edu>"
_STAFF = "http://www.Department0.University0.edu"
QUERIES = {
    "Q1": f"SELECT ?x {{ ?x a ub:GraduateStudent ; ub:takesCourse <{_STAFF}/GraduateCourse0> }}",
    "Q2": "SELECT ?x ?y ?z { ?x a ub:GraduateStudent . ?y a ub:University . ?z a ub:Department ."
    " ?x ub:memberOf ?z . ?z ub:subOrganizationOf ?y . ?x ub:undergraduateDegreeFrom ?y }",
    "Q3": "SELECT ?x { ?x a ub:Publication ;"
    f" ub:publicationAuthor <{_STAFF}/AssistantProfessor0> }}",
    "Q4": "SELECT ?x ?y1 ?y2 ?y3 { ?x a ub:Professor ;"
    f" ub:worksFor {_DEPARTMENT} ; ub:name ?y1 ; ub:emailAddress ?y2 ; ub:telephone ?y3 }}",
    "Q5": f"SELECT ?x {{ ?x a ub:Person ; ub:memberOf {_DEPARTMENT} }}",
    "Q6": "SELECT ?x { ?x a ub:Student }",
    "Q7": "SELECT ?x ?y { ?x a ub:Student . ?y a ub:Course . ?x ub:takesCourse ?y ."
    f" <{_STAFF}/AssociateProfessor0> ub:teacherOf ?y }}",
    "Q8": "SELECT ?x ?y ?z { ?x a ub:Student . ?y a ub:Department . ?x ub:memberOf ?y ."
    f" ?y ub:subOrganizationOf {_UNIVERSITY} . ?x ub:emailAddress ?z }}",
    "Q9": "SELECT ?x ?y ?z { ?x a ub:Student . ?y a ub:Faculty . ?z a ub:Course ."
    " ?x ub:advisor ?y . ?x ub:takesCourse ?z . ?y ub:teacherOf ?z }",
    "Q10": f"SELECT ?x {{ ?x a ub:Student ; ub:takesCourse <{_STAFF}/GraduateCourse0> }}",
    "Q11": f"SELECT ?x {{ ?x a ub:ResearchGroup ; ub:subOrganizationOf {_UNIVERSITY} }}",
    "Q12": "SELECT ?x ?y { ?x a ub:Chair . ?y a ub:Department . ?x ub:worksFor ?y ."
    f" ?y ub:subOrganizationOf {_UNIVERSITY} }}",
    "Q13": f"SELECT ?x {{ ?x a ub:Person . {_UNIVERSITY} ub:hasAlumnus ?x }}",
    "Q14": "SELECT ?x { ?x a ub:UndergraduateStudent }",
}
